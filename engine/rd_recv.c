/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD arrivals: poll, release, pull, answer. What a slot says is copied once,
 * then checked; a slot that makes no sense is dropped and logged.
 */
#include <config.h>

#include "engine/rd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/move/move.h"
#include "engine/progress.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/log.h"

/* One position in so many looks after peers, deaths and other endpoints. */
#define BUSY_MASK	255u
/* At a claimed slot: about 100 ns. */
#define AWAIT_LOOKS	64u

/* A slot's words as they were when it was taken. */
struct arrival {
	uint64_t who;
	uint64_t pos;
	uint32_t qpn;
	uint32_t src_qpn;
	uint32_t len;
	uint8_t kind;
	uint8_t flags;
	uint8_t op;
	uint64_t tag;
	uint64_t data;
	uint64_t xfer;
	struct rosm_wire_slot *slot;
};

static inline void arrival_read(struct arrival *a, struct rosm_wire_slot *slot,
				uint64_t pos)
{
	a->who = rosm_slot_word_who(atomic_load_explicit(&slot->word,
							 memory_order_relaxed));
	a->pos = pos;
	a->qpn = slot->qpn;
	a->src_qpn = slot->src_qpn;
	a->len = slot->len32;
	a->kind = slot->kind;
	a->flags = slot->flags;
	a->op = slot->status;
	a->tag = slot->rd.tag;
	a->data = slot->rd.data;
	a->xfer = slot->rd.xfer;
	a->slot = slot;
}

static inline void event_base(struct rosm_rd_event *ev,
			      enum rosm_rd_event_type type,
			      struct rosm_rd_peer *p)
{
	ev->type = type;
	ev->status = 0;
	ev->peer = p;
	ev->payload = NULL;
	ev->token = (struct rosm_rd_token){ 0 };
	ev->context = NULL;
}

static inline uint32_t event_flags(uint8_t flags)
{
	return (flags & ROSM_SLOT_F_DATA ? ROSM_RD_DATA : 0) |
	       (flags & ROSM_SLOT_F_MSG ? ROSM_RD_MSG : 0);
}

static inline void event_msg(struct rosm_rd_event *ev, struct rosm_rd_peer *p,
			     const struct arrival *a)
{
	event_base(ev, ROSM_RD_EV_MSG, p);
	ev->tag = a->tag;
	ev->data = a->data;
	ev->len = a->len;
	ev->op = a->op;
	ev->flags = event_flags(a->flags);
	if (ru_unlikely(a->flags & ROSM_SLOT_F_ACK)) {
		ev->flags |= ROSM_RD_ACK;
		ev->token.xfer = a->xfer;
		ev->token.seq = (uint32_t)(a->xfer >> 32);
		ev->token.ack = a->kind == ROSM_SLOT_RD_MSG;
	}
}

static int refuse(struct rosm_rd *rd, const struct arrival *a,
		  const char *why)
{
	RU_WARN_ONCE("rd", "qp 0x%x: slot from qp 0x%x dropped: %s", rd->qpn,
		     a->src_qpn, why);
	rosm_ring_free(&rd->ring, a->pos);
	return 0;
}

/* A message that is here whole. */
static inline int take_whole(struct rosm_rd *rd, struct rosm_rd_peer *p,
			     const struct arrival *a, struct rosm_rd_event *ev)
{
	enum rosm_mover mover = ROSM_MOVER_INLINE;
	const void *payload;

	if (ru_likely(a->flags & ROSM_SLOT_F_INLINE)) {
		if (ru_unlikely(a->len > ROSM_SLOT_RD_INLINE))
			return refuse(rd, a, "inline length");
		payload = a->slot->rd.payload;
	} else {
		if (!(a->flags & ROSM_SLOT_F_CHUNK) ||
		    a->len > rd->ring.chunk_bytes)
			return refuse(rd, a, "chunk length");
		mover = ROSM_MOVER_CHUNK;
		payload = rosm_ring_chunk(&rd->ring, a->pos);
	}
	event_msg(ev, p, a);
	if (ru_likely(p->peer != NULL))
		rosm_move_count(p->peer,
				p->peer->local ? ROSM_MOVER_SELF : mover,
				false, a->len);
	if (!a->len) {
		rosm_ring_free(&rd->ring, a->pos);
		return 1;
	}
	ev->payload = payload;
	rd->held_pos = a->pos;
	rd->held = true;
	return 1;
}

/* An announced one. */
static int take_announced(struct rosm_rd *rd, struct rosm_rd_peer *p,
			  struct arrival *a, struct rosm_rd_event *ev)
{
	struct rosm_wire_xfer *x;
	uint32_t seq;

	x = rosm_rd_xfer(p, a->xfer, &seq);
	if (!x)		/* gone with its sender, who never saw it complete */
		return refuse(rd, a, "announced by a process that is gone");
	a->flags |= ROSM_SLOT_F_ACK;
	event_msg(ev, p, a);
	if (a->len == UINT32_MAX)
		ev->len = x->len;
	rosm_ring_free(&rd->ring, a->pos);
	return 1;
}

static int take_rma(struct rosm_rd *rd, struct rosm_rd_peer *p,
		    const struct arrival *a, struct rosm_rd_event *ev)
{
	event_base(ev, ROSM_RD_EV_RMA_DATA, p);
	ev->data = a->data;
	ev->len = a->tag;
	ev->flags = ROSM_RD_DATA;
	rosm_ring_free(&rd->ring, a->pos);
	return 1;
}

/*
 * What the sender's segment is needed for waits until it has answered
 * (contact.c): it sends, so its calls come.
 */
static bool unmapped(const struct rosm_rd_peer *p, const struct arrival *a)
{
	return !p->peer && rosm_rd_state(p) == ROSM_RD_NEW &&
	       p->err == -EAGAIN &&
	       (a->kind != ROSM_SLOT_RD_MSG || a->flags & ROSM_SLOT_F_ACK);
}

/* 1: an event; 0: not, go on; -ENOMEM, -EAGAIN. */
static int take(struct rosm_rd *rd, struct rosm_wire_slot *slot, uint64_t pos,
		struct rosm_rd_event *ev)
{
	struct rosm_rd_peer *p;
	struct arrival a;

	arrival_read(&a, slot, pos);
	if (ru_unlikely(a.kind == ROSM_SLOT_NONE)) {
		rosm_ring_free(&rd->ring, pos);
		return 0;
	}
	if (ru_unlikely(a.qpn != rd->qpn))
		return refuse(rd, &a, "meant for another queue pair");
	p = rosm_rd_peer_of(rd, a.src_qpn, a.who);
	if (ru_unlikely(!p))
		return -ENOMEM;	/* it stays where it is */
	if (ru_unlikely(unmapped(p, &a)))
		return -EAGAIN;	/* likewise */
	switch (a.kind) {
	case ROSM_SLOT_RD_MSG:
		return take_whole(rd, p, &a, ev);
	case ROSM_SLOT_RD_RTS:
		return take_announced(rd, p, &a, ev);
	case ROSM_SLOT_RD_RMA:
		return take_rma(rd, p, &a, ev);
	case ROSM_SLOT_RD_ASK:
		rosm_ring_free(&rd->ring, pos);
		rosm_rd_serve_ask(rd, p, a.xfer, a.flags & ROSM_SLOT_F_DATA,
				  a.data);
		return 0;
	default:
		return refuse(rd, &a, "kind");
	}
}

/* An operation that is over. */
static int take_ready(struct rosm_rd *rd, struct rosm_rd_event *ev)
{
	static const enum rosm_rd_event_type types[] = {
		[ROSM_RD_OP_SEND] = ROSM_RD_EV_SENT,
		[ROSM_RD_OP_READ] = ROSM_RD_EV_RMA_DONE,
		[ROSM_RD_OP_WRITE] = ROSM_RD_EV_RMA_DONE,
		[ROSM_RD_OP_ANNOUNCE] = ROSM_RD_EV_RMA_DONE,
		[ROSM_RD_OP_PULL] = ROSM_RD_EV_PULLED,
		[ROSM_RD_OP_SERVE] = ROSM_RD_EV_RMA_DATA,
	};
	struct rosm_rd_op *op;
	struct ru_list *l;
	int got = 0;

	ru_lock_acquire(&rd->lock);
	while (!got && (l = ru_list_pop_head(&rd->ready))) {
		op = ru_list_entry(l, struct rosm_rd_op, link);
		event_base(ev, types[op->kind], op->peer);
		ev->status = op->status;
		ev->context = op->context;
		ev->len = op->len;
		ev->data = op->data;
		ev->flags = op->has_data ? ROSM_RD_DATA : 0;
		/* serving is news only if the peer says so */
		got = op->kind != ROSM_RD_OP_SERVE ||
		      (op->has_data && !op->status);
		rosm_rd_op_put_locked(rd, op);
	}
	ru_lock_release(&rd->lock);
	return got;
}

static void advance(struct rosm_rd *rd)
{
	if (!ru_list_empty(&rd->announce))
		rosm_rd_announce_again(rd);
	if (!ru_lock_try(&rd->lock))
		return;		/* somebody else's progress does it */
	rosm_rd_advance_locked(rd);
	ru_lock_release(&rd->lock);
}

static int tell_dead(struct rosm_rd *rd, struct rosm_rd_event *ev)
{
	struct ru_list *l;

	ru_list_for_each(l, &rd->peers) {
		struct rosm_rd_peer *p =
			ru_list_entry(l, struct rosm_rd_peer, link);

		if (!p->dying || p->told)
			continue;
		p->told = 1;
		rd->untold--;
		event_base(ev, ROSM_RD_EV_PEER_DEAD, p);
		ev->status = p->err;
		return 1;
	}
	rd->untold = 0;
	return 0;
}

/* What the ring holds, up to the first event. */
static int take_next(struct rosm_rd *rd, struct rosm_rd_event *ev)
{
	struct rosm_wire_slot *slot;
	uint64_t pos;
	int rc;

	while ((slot = rosm_ring_peek(&rd->ring, &pos))) {
		rc = take(rd, slot, pos, ev);
		if (ru_likely(rc))
			return rc > 0;
	}
	return 0;
}

/* Nothing arrived. */
static int poll_idle(struct rosm_rd *rd, struct rosm_rd_event *ev)
{
	rosm_progress(rd->inst);
	rosm_rd_check_claim(rd);
	if (ru_unlikely(rd->asked))
		rosm_rd_ask_again(rd);
	if (ru_unlikely(rosm_rd_bury(rd) || rd->untold)) {
		/* what the dead left comes first */
		if (take_ready(rd, ev) || take_next(rd, ev))
			return 1;
		return tell_dead(rd, ev);
	}
	return 0;
}

/*
 * What most arrivals are: small, whole, without an answer, of the peer that
 * sent the last one. False: take() looks at it.
 */
static inline bool take_small(struct rosm_rd *rd, struct rosm_wire_slot *slot,
			      uint64_t pos, struct rosm_rd_event *ev)
{
	struct rosm_rd_peer *p = rd->last;
	uint32_t len = slot->len32;
	uint8_t flags = slot->flags;

	if (ru_unlikely(slot->kind != ROSM_SLOT_RD_MSG || !len ||
			len > ROSM_SLOT_RD_INLINE || slot->qpn != rd->qpn ||
			(flags & (ROSM_SLOT_F_INLINE | ROSM_SLOT_F_ACK)) !=
				ROSM_SLOT_F_INLINE ||
			!p || !p->peer || p->qpn != slot->src_qpn ||
			p->who != rosm_slot_word_who(atomic_load_explicit(
					  &slot->word, memory_order_relaxed))))
		return false;
	event_base(ev, ROSM_RD_EV_MSG, p);
	ev->tag = slot->rd.tag;
	ev->data = slot->rd.data;
	ev->len = len;
	ev->op = slot->status;
	ev->flags = event_flags(flags);
	ev->payload = slot->rd.payload;
	rd->held_pos = pos;
	rd->held = true;
	rosm_move_count(p->peer, p->peer->local ? ROSM_MOVER_SELF :
						  ROSM_MOVER_INLINE,
			false, len);
	return true;
}

/* Rather often, also while the ring never runs empty. */
static RU_NOINLINE void poll_busy(struct rosm_rd *rd)
{
	rosm_progress(rd->inst);
	rosm_rd_bury(rd);	/* it is told of when the ring is empty */
}

/* There is something besides a small message. */
static RU_NOINLINE int poll_more(struct rosm_rd *rd,
				 struct rosm_rd_event *ev_out)
{
	struct rosm_wire_slot *slot;
	uint64_t pos;
	int rc;

	do {
		slot = rosm_ring_peek(&rd->ring, &pos);
		if (atomic_load_explicit(&rd->active, memory_order_relaxed)) {
			if (ru_unlikely(rd->want_ops || rd->want_ring))
				rosm_rd_grow(rd);
			advance(rd);
			if (take_ready(rd, ev_out))
				return 1;
		}
		if (!slot)
			return poll_idle(rd, ev_out);
		if (ru_unlikely(!(pos & BUSY_MASK)))
			poll_busy(rd);
		rc = take(rd, slot, pos, ev_out);
	} while (ru_unlikely(!rc));
	if (rc < 0) {
		poll_busy(rd);
		return 0;
	}
	rosm_progress_busy(rd->inst);
	return 1;
}

/*
 * Its producer is between claim and publish, usually for some nanoseconds: to
 * look past the slot and at the clock takes longer. Once a position, since it
 * may as well be stopped there.
 */
static RU_NOINLINE void await_publish(struct rosm_rd *rd,
				      struct rosm_wire_slot *slot)
{
	unsigned int i;

	if (rd->awaited_pos == rd->ring.head)
		return;
	rd->awaited_pos = rd->ring.head;
	for (i = 0; i < AWAIT_LOOKS; i++)
		if (rosm_slot_word_state(atomic_load_explicit(
			    &slot->word, memory_order_relaxed)) !=
		    ROSM_SLOT_CLAIMED)
			return;
}

static inline struct rosm_wire_slot *peek(struct rosm_rd *rd, uint64_t *pos_out)
{
	struct rosm_wire_slot *slot =
		&rd->ring.slots[rd->ring.head & rd->ring.mask];

	if (ru_unlikely(rosm_slot_word_state(atomic_load_explicit(
				&slot->word, memory_order_relaxed)) ==
			ROSM_SLOT_CLAIMED))
		await_publish(rd, slot);
	return rosm_ring_peek(&rd->ring, pos_out);
}

/*
 * The ring is looked at before the answers: whoever answers us and then sends
 * is reported in that order.
 */
int rosm_rd_poll(struct rosm_rd *rd, struct rosm_rd_event *ev_out)
{
	struct rosm_wire_slot *slot;
	uint64_t pos;

	if (ru_unlikely(rd->held))
		rosm_rd_release(rd, ev_out);
	slot = peek(rd, &pos);
	if (ru_likely(!atomic_load_explicit(&rd->active,
					    memory_order_relaxed))) {
		if (!slot)
			return poll_idle(rd, ev_out);
		if (ru_likely(pos & BUSY_MASK) &&
		    take_small(rd, slot, pos, ev_out)) {
			rosm_progress_busy(rd->inst);
			return 1;
		}
	}
	return poll_more(rd, ev_out);
}

void rosm_rd_release(struct rosm_rd *rd, struct rosm_rd_event *ev)
{
	(void)ev;
	if (!rd->held)
		return;
	rd->held = false;
	rosm_ring_free(&rd->ring, rd->held_pos);
}

/* ---- pull ----------------------------------------------------------- */

/* Everything a pull needs to know of the sender's block, checked. */
struct source {
	struct rosm_wire_xfer *x;
	uint32_t seq;
	uint64_t len;
	uint32_t iov_count;
	struct iovec iov[ROSM_RD_IOV];
};

static int source_read(struct rosm_rd_peer *p,
		       const struct rosm_rd_token *token, struct source *s)
{
	uint32_t state;

	s->x = rosm_rd_xfer(p, token->xfer, &s->seq);
	/* what a dead process announced went with it, and its pid may too */
	if (!s->x || atomic_load_explicit(&p->peer->dead,
					  memory_order_acquire))
		return -ECONNABORTED;
	state = atomic_load_explicit(&s->x->state, memory_order_acquire);
	if (state != ROSM_XFER_OPEN)
		return -ECONNABORTED;
	s->len = s->x->len;
	return rosm_rd_their_iov(s->x, token->ack ? 0 : s->len, s->iov,
				 &s->iov_count) ? 0 : -EPROTO;
}

/* The sender's calls do their half: PENDING. */
static int pull_bounce(struct rosm_rd *rd, struct rosm_rd_peer *p,
		       const struct source *s, uint64_t want,
		       const struct iovec *iov, uint32_t iov_count,
		       void *context)
{
	uint32_t open = ROSM_XFER_OPEN;
	struct rosm_rd_op *op;

	ru_lock_acquire(&rd->lock);
	op = rosm_rd_op_get_locked(rd, ROSM_RD_OP_PULL);
	if (!op) {
		ru_lock_release(&rd->lock);
		return -ENOMEM;
	}
	op->peer = p;
	op->context = context;
	op->len = want;
	op->xfer = s->x;
	op->their_seq = s->seq;
	op->their_iov_count = s->iov_count;
	memcpy(op->their_iov, s->iov, sizeof(op->their_iov));
	op->iov_count = iov_count;
	memcpy(op->iov, iov, iov_count * sizeof(*iov));
	op->mover = ROSM_MOVER_BOUNCE;
	op->start_ns = ru_clock_ns();
	op->heard_ns = op->start_ns;
	if (p->select)
		rosm_select_begin(p->select, op->start_ns);
	op->b = (struct rosm_bounce){
		.xfer = s->x,
		.total = s->len,
		.want = want,
	};
	/* the asker looks for it when its answers grow (R-rdanswer) */
	if (!atomic_compare_exchange_strong_explicit(
		    &s->x->state, &open, ROSM_XFER_BOUNCE,
		    memory_order_release, memory_order_relaxed)) {
		rosm_rd_op_put_locked(rd, op);
		ru_lock_release(&rd->lock);
		return -ECONNABORTED;
	}
	ru_list_add_tail(&rd->work, &op->link);
	rosm_rd_note_locked(rd);
	ru_lock_release(&rd->lock);
	rosm_rd_nudge(rd, p);
	return ROSM_RD_PENDING;
}

static int pull_direct(struct rosm_rd *rd, struct rosm_rd_peer *p,
		       const struct source *s, uint64_t want,
		       const struct iovec *iov, uint32_t iov_count)
{
	struct rosm_end src = { p->peer, s->iov, s->iov_count };
	struct rosm_end dst = { rd->inst->self, iov, iov_count };
	enum rosm_move_fault fault;
	uint64_t start = ru_ticks();
	int rc;

	rc = rosm_move(&src, &dst, want, &fault);
	if (rc == -ESRCH)
		return -ECONNABORTED;
	if (rc)
		return rc;
	rosm_move_count(p->peer,
			p->peer->local ? ROSM_MOVER_SELF : ROSM_MOVER_CMA,
			false, want);
	if (p->peer->local)
		return 0;
	start = ru_ticks_to_ns(ru_ticks() - start);
	ru_lock_acquire(&rd->lock);
	if (p->select)
		rosm_select_done(p->select, p->peer, ROSM_MOVER_CMA, want, 0,
				 start);
	ru_lock_release(&rd->lock);
	return 0;
}

static int pull(struct rosm_rd *rd, struct rosm_rd_peer *p,
		const struct source *s, uint64_t want, const struct iovec *iov,
		uint32_t iov_count, void *context)
{
	bool can_cma = rosm_move_can_read(p->peer);
	enum rosm_mover mover = can_cma ? ROSM_MOVER_CMA : ROSM_MOVER_BOUNCE;
	int rc;

	ru_lock_acquire(&rd->lock);
	if (!p->select)
		p->select = calloc(1, sizeof(*p->select));
	if (p->select)
		mover = rosm_select_pick(p->select, p->peer, want, can_cma);
	ru_lock_release(&rd->lock);
	if (mover != ROSM_MOVER_BOUNCE) {
		rc = pull_direct(rd, p, s, want, iov, iov_count);
		if (rc != -EOPNOTSUPP)
			return rc;
	}
	return pull_bounce(rd, p, s, want, iov, iov_count, context);
}

int rosm_rd_pull(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		 const struct rosm_rd_token *token, uint64_t len,
		 const struct iovec *iov, uint32_t iov_count, void *context)
{
	struct source s;
	uint64_t want;
	int rc, told;

	if (iov_count > ROSM_RD_IOV)
		return -EINVAL;
	rc = source_read(peer, token, &s);
	if (rc == -ECONNABORTED)
		return rc;
	want = ru_min(ru_min(len, s.len), ru_iov_len(iov, iov_count));
	if (!rc && want && !token->ack)
		rc = pull(rd, peer, &s, want, iov, iov_count, context);
	if (rc == ROSM_RD_PENDING)
		return rc;
	told = rosm_rd_answer_xfer(rd, peer, s.x, s.seq, rc);
	return rc ? rc : told;
}

void rosm_rd_answer(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		    const struct rosm_rd_token *token, int status)
{
	struct rosm_wire_xfer *x;
	uint32_t seq;

	x = rosm_rd_xfer(peer, token->xfer, &seq);
	if (x)
		rosm_rd_answer_xfer(rd, peer, x, seq, status);
}
