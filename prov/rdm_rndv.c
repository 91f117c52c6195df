/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receives: from a posted buffer and a message, in whichever order they come,
 * to a completion. A message that travelled whole is copied; of a large one
 * the data is pulled from its sender, now or over a while.
 *
 * A multi-receive buffer stays posted; each message in it is a receive of its
 * own (a part) that points at the buffer's rfi_rx. The last part to complete
 * after the buffer was used up carries FI_MULTI_RECV and frees it.
 */
#include <config.h>

#include "prov/ep.h"

#include "util/copy.h"

#define ENTRY_FLAGS	(FI_MSG | FI_TAGGED | FI_RECV | FI_MULTI_RECV)

/* ---- completions ---------------------------------------------------- */

static uint64_t rx_finish_part_locked(struct rfi_ep *ep, struct rfi_rx *buffer)
{
	buffer->parts--;
	if (!buffer->exhausted || buffer->parts)
		return 0;
	ru_pool_put(&ep->rx_pool, buffer);
	return FI_MULTI_RECV;
}

/* The usual end: written in place, and nowhere else first. */
static inline void rx_succeed_locked(struct rfi_ep *ep, struct rfi_rx *rx)
{
	struct rfi_cq_entry *e = rfi_cq_push(ep->rx_cq);

	if (ru_likely(e != NULL)) {
		e->e.op_context = rx->context;
		e->e.flags = rx->flags & (ENTRY_FLAGS | FI_REMOTE_CQ_DATA);
		e->e.len = rx->msg_len;
		e->e.buf = rx->iov_count ? rx->iov[0].iov_base : NULL;
		e->e.data = rx->data;
		e->e.tag = rx->tag;
		e->src = rfi_ep_source_locked(ep, rx->peer);
		e->err = 0;
	}
	rfi_cq_pushed(ep->rx_cq);
}

/* rx->peer, tag, data and msg_len are set. Frees rx. */
static void rx_complete_slow_locked(struct rfi_ep *ep, struct rfi_rx *rx,
				    int status)
{
	struct rfi_cq_entry entry = {
		.e.op_context = rx->context,
		.e.flags = rx->flags & (ENTRY_FLAGS | FI_REMOTE_CQ_DATA),
		.e.len = rx->msg_len,
		.e.buf = rx->iov_count ? rx->iov[0].iov_base : NULL,
		.e.data = rx->data,
		.e.tag = rx->tag,
	};

	if (rx->multi) {
		entry.e.flags &= ~(uint64_t)FI_MULTI_RECV;
		entry.e.flags |= rx_finish_part_locked(ep, rx->multi);
	}
	if (!status && rx->msg_len > rx->len)
		status = -FI_ETRUNC;
	if (status) {
		entry.err = -status;
		entry.prov_errno = -status;
		if (status == -FI_ETRUNC) {
			entry.e.len = rx->len;
			entry.olen = rx->msg_len - rx->len;
		} else {
			entry.e.len = 0;
			entry.olen = rx->msg_len;
		}
		rfi_cq_put(ep->rx_cq, &entry);
	} else if (rx->flags & FI_COMPLETION) {
		entry.src = rfi_ep_source_locked(ep, rx->peer);
		rfi_cq_put(ep->rx_cq, &entry);
	}
	ru_pool_put(&ep->rx_pool, rx);
}

static inline void rx_complete_locked(struct rfi_ep *ep, struct rfi_rx *rx,
				      int status)
{
	if (ru_unlikely(status || rx->multi || rx->msg_len > rx->len ||
			!(rx->flags & FI_COMPLETION))) {
		rx_complete_slow_locked(ep, rx, status);
		return;
	}
	rx_succeed_locked(ep, rx);
	ru_pool_put(&ep->rx_pool, rx);
}

/* A receive that ends without a message. */
static void rx_abort_locked(struct rfi_ep *ep, struct rfi_rx *rx, int status)
{
	struct rfi_cq_entry entry = {
		.e.op_context = rx->context,
		.e.flags = rx->flags & ENTRY_FLAGS,
		.e.tag = rx->match.tag,
		.err = -status,
		.prov_errno = -status,
	};

	if (rx->parts) {
		/* the last part frees the buffer and says so */
		rx->exhausted = true;
		entry.e.flags &= ~(uint64_t)FI_MULTI_RECV;
	} else {
		ru_pool_put(&ep->rx_pool, rx);
	}
	rfi_cq_put(ep->rx_cq, &entry);
}

void rfi_rdm_rma_data_locked(struct rfi_ep *ep, const struct rosm_rd_event *ev)
{
	struct rfi_cq_entry entry = {
		.e.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
		.e.len = ev->len,
		.e.data = ev->data,
		.src = rfi_ep_source_locked(ep, ev->peer),
	};

	if (ep->rx_cq)
		rfi_cq_put(ep->rx_cq, &entry);
}

/* ---- a message into a buffer ---------------------------------------- */

static inline void rx_copy(const struct rfi_rx *rx, const void *payload,
			   uint64_t len)
{
	if (ru_likely(rx->iov_count == 1))
		ru_copy(rx->iov[0].iov_base, payload, ru_min(len, rx->len));
	else
		ru_copy_to_iov(rx->iov, rx->iov_count, 0, payload,
			       ru_min(len, rx->len));
}

/* rx is out of the matcher; the event's payload may go afterwards. */
static void rx_deliver_locked(struct rfi_ep *ep, struct rfi_rx *rx,
			      const struct rosm_rd_event *ev)
{
	int status = 0;

	rx->peer = ev->peer;
	rx->tag = ev->tag;
	rx->data = ev->data;
	rx->msg_len = ev->len;
	if (ev->flags & ROSM_RD_DATA)
		rx->flags |= FI_REMOTE_CQ_DATA;
	if (ru_likely(ev->payload || !ev->len)) {
		if (ev->payload)
			rx_copy(rx, ev->payload, ev->len);
		if (ru_unlikely(ev->token.xfer))
			rosm_rd_answer(ep->rd, ev->peer, &ev->token, 0);
	} else if (!rx->len) {
		rosm_rd_answer(ep->rd, ev->peer, &ev->token, 0);
	} else {
		status = rosm_rd_pull(ep->rd, ev->peer, &ev->token, ev->len,
				      rx->iov, rx->iov_count, rx);
		if (status == ROSM_RD_PENDING) {
			ep->pending++;
			return;
		}
	}
	rx_complete_locked(ep, rx, status);
}

void rfi_rdm_pulled_locked(struct rfi_ep *ep, struct rfi_rx *rx, int status)
{
	ep->pending--;
	rx_complete_locked(ep, rx, status);
}

static size_t rx_room(const struct rfi_rx *buffer)
{
	return buffer->len - buffer->used;
}

/*
 * A part of the buffer for a message of len bytes; NULL without memory. It may
 * be the last one: then the buffer is exhausted and must not be posted any
 * more when the part completes.
 */
static struct rfi_rx *rx_part_locked(struct rfi_ep *ep, struct rfi_rx *buffer,
				     uint64_t len)
{
	struct rfi_rx *part = ru_pool_get(&ep->rx_pool);
	size_t room = rx_room(buffer);

	if (!part)
		return NULL;
	part->context = buffer->context;
	part->flags = buffer->flags;
	part->multi = buffer;
	part->parts = 0;
	part->len = room;
	part->iov_count = 1;
	part->iov[0].iov_base = (char *)buffer->iov[0].iov_base + buffer->used;
	part->iov[0].iov_len = room;
	buffer->used += ru_min(len, room);
	buffer->parts++;
	room = rx_room(buffer);
	if (!room || room < ep->min_multi_recv)
		buffer->exhausted = true;
	return part;
}

void rfi_rdm_arrived_locked(struct rfi_ep *ep, struct rosm_rd_event *ev)
{
	bool untagged = ev->flags & ROSM_RD_MSG;
	struct rfi_match *m = untagged ? &ep->msg : &ep->tagged;
	struct rfi_match_recv *r;
	struct rfi_rx *rx, *part;

	r = rfi_match_find_recv(m, (uintptr_t)ev->peer, untagged ? 0 : ev->tag);
	if (!r) {
		rfi_unexp_keep_locked(ep, ev);
		goto release;
	}
	rx = ru_container_of(r, struct rfi_rx, match);
	if (ru_unlikely(rx->flags & FI_MULTI_RECV)) {
		part = rx_part_locked(ep, rx, ev->len);
		if (!part) {
			rfi_unexp_keep_locked(ep, ev);
			goto release;
		}
		if (rx->exhausted)
			rfi_match_unpost(m, r);
		rx = part;
	} else {
		rfi_match_unpost(m, r);
	}
	rx_deliver_locked(ep, rx, ev);
release:
	if (ev->payload)
		rosm_rd_release(ep->rd, ev);
}

/* ---- a buffer for a message ----------------------------------------- */

int rfi_rdm_src_locked(struct rfi_ep *ep, fi_addr_t addr, uint64_t *src_out)
{
	struct rosm_rd_peer *peer;
	int ret;

	if (addr == FI_ADDR_UNSPEC || !(ep->caps & FI_DIRECTED_RECV)) {
		*src_out = RFI_SRC_ANY;
		return 0;
	}
	if (ru_likely(addr < ep->peer_count && ep->peers[addr])) {
		*src_out = (uintptr_t)ep->peers[addr];
		return 0;
	}
	ret = rfi_ep_meet_locked(ep, addr, &peer);
	if (ret)
		return ret;
	/* Who only waits for it shall hear of its death, past or to come. */
	ret = rosm_rd_peer_contact(ep->rd, peer);
	if (ret == -ECONNABORTED || ret == -EHOSTUNREACH)
		rfi_ep_dead_add_locked(ep, peer);
	*src_out = (uintptr_t)peer;
	return 0;
}

static int rx_make_locked(struct rfi_ep *ep, const struct rfi_recv_args *args,
			  uint64_t flags, struct rfi_rx **rx_out)
{
	struct rfi_rx *rx;
	size_t i;

	if (args->iov_count > RFI_IOV_LIMIT ||
	    (flags & FI_MULTI_RECV && args->iov_count != 1))
		return -FI_EINVAL;
	rx = ru_pool_get(&ep->rx_pool);
	if (!rx)
		return -FI_EAGAIN;
	rx->context = args->context;
	rx->flags = flags | FI_RECV;
	rx->multi = NULL;
	rx->used = 0;
	rx->parts = 0;
	rx->exhausted = false;
	rx->iov_count = (uint32_t)args->iov_count;
	rx->len = 0;
	for (i = 0; i < args->iov_count; i++) {
		rx->iov[i].iov_base = args->iov[i].iov_base;
		ru_compiler_barrier();	/* two words, as they were written */
		rx->iov[i].iov_len = args->iov[i].iov_len;
		rx->len += args->iov[i].iov_len;
	}
	*rx_out = rx;
	return 0;
}

int rfi_rdm_recv_unexp_locked(struct rfi_ep *ep,
			      const struct rfi_recv_args *args, uint64_t flags,
			      struct rfi_unexp *u)
{
	struct rfi_rx *rx;
	int ret;

	ret = rx_make_locked(ep, args,
			     flags & (FI_TAGGED | FI_MSG | FI_COMPLETION), &rx);
	if (ret)
		return ret;
	rx_deliver_locked(ep, rx, &u->ev);
	rfi_unexp_free_locked(ep, u);
	return 0;
}

/* A receive from a peer that will send nothing more. */
static inline bool rx_hopeless(const struct rfi_ep *ep, uint64_t src)
{
	return ep->dead_count && src != RFI_SRC_ANY &&
	       rfi_ep_dead_locked(ep,
				  (const struct rosm_rd_peer *)(uintptr_t)src);
}

/* Waiting messages into the buffer as long as it has room; then post it. */
static void multi_post_locked(struct rfi_ep *ep, struct rfi_match *m,
			      struct rfi_rx *buffer)
{
	bool exhausted = false;
	struct rfi_match_msg *g;
	struct rfi_unexp *u;
	struct rfi_rx *part;

	/* One part is this loop itself, so that the others do not free it. */
	buffer->parts = 1;
	while (!exhausted &&
	       (g = rfi_match_find_msg(m, buffer->match.src, buffer->match.tag,
				       buffer->match.ignore))) {
		u = ru_container_of(g, struct rfi_unexp, match);
		part = rx_part_locked(ep, buffer, u->ev.len);
		if (!part)
			break;
		rfi_match_take(m, g);
		exhausted = buffer->exhausted;
		if (exhausted)
			buffer->parts--;
		rx_deliver_locked(ep, part, &u->ev);
		rfi_unexp_free_locked(ep, u);
	}
	if (exhausted)
		return;
	buffer->parts--;
	if (rx_hopeless(ep, buffer->match.src))
		rx_abort_locked(ep, buffer, -FI_ECONNABORTED);
	else
		rfi_match_post(m, &buffer->match);
}

ssize_t rfi_rdm_recv(struct rfi_ep *ep, const struct rfi_recv_args *args,
		     uint64_t flags)
{
	struct rfi_match *m = rfi_ep_match(ep, flags);
	struct rfi_unexp *u;
	struct rfi_rx *rx;
	uint64_t src;
	ssize_t ret;

	rfi_lock_acquire(&ep->lock);
	ret = rfi_rdm_src_locked(ep, args->src, &src);
	if (ru_unlikely(ret))
		goto unlock;
	ret = rx_make_locked(ep, args, flags, &rx);
	if (ru_unlikely(ret))
		goto unlock;
	rx->match.src = src;
	rx->match.tag = args->tag;
	rx->match.ignore = args->ignore;
	if (ru_unlikely(flags & FI_MULTI_RECV)) {
		multi_post_locked(ep, m, rx);
		goto unlock;
	}
	u = m->msg_count ? rfi_unexp_take_locked(ep, m, src, args->tag,
						 args->ignore) : NULL;
	if (u) {
		rx_deliver_locked(ep, rx, &u->ev);
		rfi_unexp_free_locked(ep, u);
	} else if (ru_unlikely(rx_hopeless(ep, src))) {
		rx_abort_locked(ep, rx, -FI_ECONNABORTED);
	} else {
		rfi_match_post(m, &rx->match);
	}
unlock:
	rfi_lock_release(&ep->lock);
	return ret;
}

/* ---- ends without a message ----------------------------------------- */

static bool rx_has_context(struct rfi_match_recv *r, void *context)
{
	return ru_container_of(r, struct rfi_rx, match)->context == context;
}

ssize_t rfi_rdm_cancel(struct rfi_ep *ep, void *context)
{
	struct rfi_match *all[] = { &ep->tagged, &ep->msg };
	struct rfi_match_recv *r = NULL;
	ssize_t ret = -FI_ENOENT;
	size_t i;

	rfi_lock_acquire(&ep->lock);
	for (i = 0; ep->rd && i < RU_ARRAY_SIZE(all) && !r; i++) {
		r = rfi_match_each_recv(all[i], rx_has_context, context);
		if (r) {
			rfi_match_unpost(all[i], r);
			rx_abort_locked(ep, ru_container_of(r, struct rfi_rx,
							    match),
					-FI_ECANCELED);
			ret = 0;
		}
	}
	rfi_lock_release(&ep->lock);
	return ret;
}

static bool rx_has_source(struct rfi_match_recv *r, void *peer)
{
	return r->src == (uintptr_t)peer;
}

void rfi_rdm_peer_dead_locked(struct rfi_ep *ep, struct rosm_rd_peer *peer)
{
	struct rfi_match *all[] = { &ep->tagged, &ep->msg };
	struct rfi_match_recv *r;
	size_t i;

	rfi_ep_dead_add_locked(ep, peer);
	for (i = 0; i < RU_ARRAY_SIZE(all); i++) {
		while ((r = rfi_match_each_recv(all[i], rx_has_source, peer))) {
			rfi_match_unpost(all[i], r);
			rx_abort_locked(ep, ru_container_of(r, struct rfi_rx,
							    match),
					-FI_ECONNABORTED);
		}
	}
}
