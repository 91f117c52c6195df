/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that came before their receive. What travelled whole is copied out
 * of the arrival ring, so that the ring does not fill; of a large message
 * only the announcement is kept, the data stays with its sender. Peek, claim
 * and discard work on these.
 *
 * Memory comes from two pools, for small payloads and for the largest that
 * travels whole; a peer with a larger limit costs a malloc.
 */
#include <config.h>

#include "prov/ep.h"

#include <stdlib.h>

#include "util/copy.h"
#include "util/log.h"

/* ---- keeping -------------------------------------------------------- */

static struct rfi_unexp *unexp_get_locked(struct rfi_ep *ep, size_t payload)
{
	struct ru_pool *pool = NULL;
	struct rfi_unexp *u;

	if (payload <= RFI_UNEXP_SMALL)
		pool = &ep->unexp_pool;
	else if (payload <= ep->eager_max)
		pool = &ep->eager_pool;
	u = pool ? ru_pool_get(pool) : malloc(sizeof(*u) + payload);
	if (u)
		u->pool = pool;
	return u;
}

void rfi_unexp_keep_locked(struct rfi_ep *ep, const struct rosm_rd_event *ev)
{
	size_t payload = ev->payload ? ev->len : 0;
	struct rfi_unexp *u = unexp_get_locked(ep, payload);
	bool untagged = ev->flags & ROSM_RD_MSG;

	if (!u) {
		struct rfi_cq_entry entry = {
			.e.flags = FI_RECV | (untagged ? FI_MSG : FI_TAGGED),
			.e.len = ev->len,
			.e.tag = ev->tag,
			.err = FI_ENOMEM,
			.prov_errno = FI_ENOMEM,
		};

		RU_ERR("ep", "no memory for an unexpected message of %llu "
		       "bytes: it is lost", (unsigned long long)ev->len);
		if (ev->token.xfer)
			rosm_rd_answer(ep->rd, ev->peer, &ev->token, -ENOMEM);
		if (ep->rx_cq)
			rfi_cq_put(ep->rx_cq, &entry);
		return;
	}
	u->ev = *ev;
	u->ev.payload = NULL;
	if (payload) {
		ru_copy(u->data, ev->payload, payload);
		u->ev.payload = u->data;
	}
	u->match.src = (uintptr_t)ev->peer;
	u->match.tag = untagged ? 0 : ev->tag;
	rfi_match_store(untagged ? &ep->msg : &ep->tagged, &u->match);
}

struct rfi_unexp *rfi_unexp_take_locked(struct rfi_ep *ep, struct rfi_match *m,
					uint64_t src, uint64_t tag,
					uint64_t ignore)
{
	struct rfi_match_msg *g = rfi_match_find_msg(m, src, tag, ignore);

	(void)ep;
	if (!g)
		return NULL;
	rfi_match_take(m, g);
	return ru_container_of(g, struct rfi_unexp, match);
}

void rfi_unexp_free_locked(struct rfi_ep *ep, struct rfi_unexp *u)
{
	(void)ep;
	if (u->pool)
		ru_pool_put(u->pool, u);
	else
		free(u);
}

/* Nobody wants it; its sender hears status. */
static void unexp_drop_locked(struct rfi_ep *ep, struct rfi_unexp *u,
			      int status)
{
	if (u->ev.token.xfer)
		rosm_rd_answer(ep->rd, u->ev.peer, &u->ev.token, status);
	rfi_unexp_free_locked(ep, u);
}

void rfi_unexp_drop_all_locked(struct rfi_ep *ep)
{
	struct rfi_match *all[] = { &ep->tagged, &ep->msg };
	struct ru_list *l;
	size_t i;

	while ((l = ru_list_pop_head(&ep->claimed)))
		unexp_drop_locked(ep, ru_list_entry(l, struct rfi_unexp, claim),
				  -ECONNABORTED);
	for (i = 0; i < RU_ARRAY_SIZE(all); i++) {
		while ((l = ru_list_first(&all[i]->msgs))) {
			struct rfi_match_msg *g =
				ru_list_entry(l, struct rfi_match_msg, all);

			rfi_match_take(all[i], g);
			unexp_drop_locked(ep, ru_container_of(g,
						struct rfi_unexp, match),
					  -ECONNABORTED);
		}
	}
}

/* ---- peek, claim, discard ------------------------------------------- */

static void peek_found_locked(struct rfi_ep *ep, const struct rfi_unexp *u,
			      void *context, uint64_t flags)
{
	struct rfi_cq_entry entry = {
		.e.op_context = context,
		.e.flags = FI_TAGGED | FI_RECV |
			   (u->ev.flags & ROSM_RD_DATA ? FI_REMOTE_CQ_DATA : 0),
		.e.len = u->ev.len,
		.e.data = u->ev.data,
		.e.tag = u->ev.tag,
		.src = rfi_ep_source_locked(ep, u->ev.peer),
	};

	if (flags & FI_COMPLETION)
		rfi_cq_put(ep->rx_cq, &entry);
}

static void peek_missed_locked(struct rfi_ep *ep,
			       const struct rfi_recv_args *args)
{
	struct rfi_cq_entry entry = {
		.e.op_context = args->context,
		.e.flags = FI_TAGGED | FI_RECV,
		.e.tag = args->tag,
		.err = FI_ENOMSG,
		.prov_errno = FI_ENOMSG,
	};

	rfi_cq_put(ep->rx_cq, &entry);
}

ssize_t rfi_unexp_peek(struct rfi_ep *ep, const struct rfi_recv_args *args,
		       uint64_t flags)
{
	struct rfi_match *m = &ep->tagged;
	struct rfi_match_msg *g;
	struct rfi_unexp *u;
	uint64_t src;
	ssize_t ret;

	rfi_lock_acquire(&ep->lock);
	ret = rfi_rdm_src_locked(ep, args->src, &src);
	if (ret)
		goto unlock;
	ep->burst = true;	/* all that is there */
	rfi_ep_progress_locked(ep);
	g = rfi_match_find_msg(m, src, args->tag, args->ignore);
	if (!g) {
		peek_missed_locked(ep, args);
		goto unlock;
	}
	u = ru_container_of(g, struct rfi_unexp, match);
	peek_found_locked(ep, u, args->context, flags);
	if (flags & FI_DISCARD) {
		rfi_match_take(m, g);
		unexp_drop_locked(ep, u, 0);
	} else if (flags & FI_CLAIM) {
		rfi_match_take(m, g);
		u->claim_context = args->context;
		ru_list_add_tail(&ep->claimed, &u->claim);
	}
unlock:
	rfi_lock_release(&ep->lock);
	return ret;
}

static struct rfi_unexp *claim_find_locked(struct rfi_ep *ep, void *context)
{
	struct ru_list *l;

	ru_list_for_each(l, &ep->claimed) {
		struct rfi_unexp *u = ru_list_entry(l, struct rfi_unexp, claim);

		if (u->claim_context == context)
			return u;
	}
	return NULL;
}

ssize_t rfi_unexp_claim(struct rfi_ep *ep, const struct rfi_recv_args *args,
			uint64_t flags)
{
	ssize_t ret = -FI_EINVAL;
	struct rfi_unexp *u;

	rfi_lock_acquire(&ep->lock);
	u = claim_find_locked(ep, args->context);
	if (!u)
		goto unlock;
	ret = 0;
	if (flags & FI_DISCARD) {
		peek_found_locked(ep, u, args->context, flags);
		ru_list_del(&u->claim);
		unexp_drop_locked(ep, u, 0);
		goto unlock;
	}
	ru_list_del(&u->claim);
	ret = rfi_rdm_recv_unexp_locked(ep, args, flags, u);
	if (ret)
		ru_list_add_head(&ep->claimed, &u->claim);
unlock:
	rfi_lock_release(&ep->lock);
	return ret;
}
