/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD sends. Small payload goes into the slot, up to eager_bytes through the
 * chunk that belongs to the slot's position; larger messages are announced
 * (RTS) and fetched by the receiver when it has matched them.
 *
 * A fair share: one sender holds at most half of a receiver's slots (five
 * eighths for a moment). Slots are counted in eighths of the ring; the first
 * slot of an eighth needs the last slot of the fourth before it consumed, so
 * the share costs one look a hundred messages and nothing in shared memory.
 *
 * If the sender stops before the publish, the receiver passes over the slot
 * and frees it on proof of death; a message exists once it is published.
 */
#include <config.h>

#include "engine/rd.h"

#include <errno.h>

#include "engine/move/move.h"
#include "util/copy.h"
#include "util/fault.h"

/* Slots of an eighth, less one. */
static inline uint32_t eighth_mask(const struct rosm_rd_peer *p)
{
	return p->tx.mask >> 3;
}

/* An eighth begins: the fourth before it has to be consumed. */
static RU_NOINLINE bool share_left_slow(struct rosm_rd_peer *p)
{
	uint32_t eighth = eighth_mask(p) + 1;

	return p->sent < 4 * eighth ||
	       rosm_ring_consumed(&p->tx, p->mark[p->sent / eighth & 3]);
}

/* Whether this end may claim one more slot of the peer's ring. */
static inline bool share_left(struct rosm_rd_peer *p)
{
	return ru_likely(p->sent & eighth_mask(p)) || share_left_slow(p);
}

static inline void share_taken(struct rosm_rd_peer *p, uint64_t pos)
{
	if (ru_unlikely(!(++p->sent & eighth_mask(p))))
		p->mark[(p->sent / (eighth_mask(p) + 1) - 1) & 3] = pos;
}

static inline uint8_t slot_flags(const struct rosm_rd_msg *msg)
{
	return (msg->flags & ROSM_RD_DATA ? ROSM_SLOT_F_DATA : 0) |
	       (msg->flags & ROSM_RD_MSG ? ROSM_SLOT_F_MSG : 0);
}

static inline void slot_fill(struct rosm_wire_slot *slot,
			     const struct rosm_rd *rd,
			     const struct rosm_rd_peer *p, uint8_t kind,
			     uint8_t flags, const struct rosm_rd_msg *msg,
			     uint32_t len32, uint64_t ref)
{
	slot->qpn = p->qpn;
	slot->kind = kind;
	slot->flags = flags;
	slot->status = msg->op;
	slot->src_qpn = rd->qpn;
	slot->len32 = len32;
	slot->rd.tag = msg->tag;
	slot->rd.data = msg->data;
	slot->rd.xfer = ref;
}

/* Bad pages shall fault here, not between claim and publish. */
static inline void touch(const struct iovec *iov, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		const char *s = iov[i].iov_base;
		size_t n = iov[i].iov_len, at;

		for (at = 0; at < n; at += 4096)
			__asm__ volatile("" : : "r"(s[at]));
		if (n)
			__asm__ volatile("" : : "r"(s[n - 1]));
	}
}

static inline void gather(void *dst, const struct rosm_rd_msg *msg,
			  uint64_t len)
{
	if (ru_likely(msg->iov_count == 1))
		ru_copy(dst, msg->iov[0].iov_base, len);
	else if (len)
		ru_copy_from_iov(dst, msg->iov, msg->iov_count, 0, len);
}

static inline void count_tx(struct rosm_rd_peer *p, enum rosm_mover mover,
			    uint64_t len)
{
	rosm_move_count(p->peer, p->peer->local ? ROSM_MOVER_SELF : mover,
			true, len);
}

/*
 * A message that travels whole. ref: block that awaits the answer, or 0.
 * Between claim and publish there is no system call.
 */
static int send_whole(struct rosm_rd *rd, struct rosm_rd_peer *p,
		      const struct rosm_rd_msg *msg, uint64_t len,
		      uint64_t ref)
{
	bool inlined = len <= ROSM_SLOT_RD_INLINE;
	uint8_t flags = slot_flags(msg) | (ref ? ROSM_SLOT_F_ACK : 0);
	struct rosm_wire_hazard *h;
	struct rosm_wire_slot *slot;
	uint8_t kind = ROSM_SLOT_RD_MSG;
	uint64_t pos;
	int rc;

	touch(msg->iov, msg->iov_count);
	rc = rosm_rd_enter(rd, p, &h);
	if (ru_unlikely(rc)) {
		rosm_rd_peer_down(rd, p, rc);
		return rc;
	}
	rc = -EAGAIN;
	if (!share_left(p) || (!inlined && !rosm_ring_chunk_likely(&p->tx)))
		goto out;
	slot = rosm_ring_claim(&p->tx, rd->inst->who, &pos);
	if (!slot)
		goto out;
	rc = 0;
	if (inlined) {
		flags |= ROSM_SLOT_F_INLINE;
		gather(slot->rd.payload, msg, len);
	} else {
		uint8_t *chunk = rosm_ring_tx_chunk(&p->tx, pos);

		if (ru_unlikely(!chunk)) {
			/* others came between: leave the slot empty */
			kind = ROSM_SLOT_NONE;
			rc = -EAGAIN;
		} else {
			flags |= ROSM_SLOT_F_CHUNK;
			gather(chunk, msg, len);
		}
	}
	slot_fill(slot, rd, p, kind, flags, msg, (uint32_t)len, ref);
	RU_KILL_POINT("rd.filled");
	rosm_ring_publish(&p->tx, slot, pos, rd->inst->who);
	RU_KILL_POINT("rd.published");
	rosm_ring_notify(p->peer, p->tx.hdr, true);
	share_taken(p, pos);
out:
	rosm_hazard_clear_qp(rd->inst, h);
	if (!rc)
		count_tx(p, inlined ? ROSM_MOVER_INLINE : ROSM_MOVER_CHUNK,
			 len);
	return rc;
}

/*
 * The slot after the next one, for writing: the next is what a receiver that
 * keeps up looks at all the time, and would take back. Not where others send
 * in between, whose slots those are.
 */
static inline void ask_for_slot(const struct rosm_rd_peer *p, uint64_t hint,
				uint64_t pos)
{
	if (ru_likely(hint == pos))
		ru_prefetchw(&p->tx.slots[(pos + 2) & p->tx.mask]);
}

/*
 * The same for what most messages are: one buffer, so small that it goes into
 * the slot, no answer wanted.
 */
static inline int send_small(struct rosm_rd *rd, struct rosm_rd_peer *p,
			     const struct rosm_rd_msg *msg, uint32_t len)
{
	const char *from = msg->iov->iov_base;
	uint64_t hint = p->tx.hint, pos;
	struct rosm_wire_hazard *h;
	struct rosm_wire_slot *slot;

	if (ru_likely(len))	/* as touch() */
		__asm__ volatile("" : : "r"(from[0]), "r"(from[len - 1]));
	if (ru_unlikely(rosm_rd_enter(rd, p, &h))) {
		rosm_rd_peer_down(rd, p, -ECONNABORTED);
		return -ECONNABORTED;
	}
	slot = share_left(p) ? rosm_ring_claim(&p->tx, rd->inst->who, &pos) :
			       NULL;
	if (ru_unlikely(!slot)) {
		rosm_hazard_clear_qp(rd->inst, h);
		return -EAGAIN;
	}
	ru_copy(slot->rd.payload, from, len);
	slot_fill(slot, rd, p, ROSM_SLOT_RD_MSG,
		  slot_flags(msg) | ROSM_SLOT_F_INLINE, msg, len, 0);
	RU_KILL_POINT("rd.filled");
	rosm_ring_publish(&p->tx, slot, pos, rd->inst->who);
	RU_KILL_POINT("rd.published");
	rosm_ring_notify(p->peer, p->tx.hdr, true);
	share_taken(p, pos);
	rosm_hazard_clear_qp(rd->inst, h);
	ask_for_slot(p, hint, pos);
	count_tx(p, ROSM_MOVER_INLINE, len);
	return 0;
}

int rosm_rd_publish_ref(struct rosm_rd *rd, struct rosm_rd_peer *p,
			uint8_t kind, uint8_t flags,
			const struct rosm_rd_msg *msg, uint64_t len,
			uint64_t ref)
{
	struct rosm_wire_hazard *h;
	struct rosm_wire_slot *slot;
	uint64_t pos;
	int rc;

	rc = rosm_rd_enter(rd, p, &h);
	if (rc) {
		rosm_rd_peer_down(rd, p, rc);
		return rc;
	}
	slot = share_left(p) ? rosm_ring_claim(&p->tx, rd->inst->who, &pos) :
			       NULL;
	if (slot) {
		slot_fill(slot, rd, p, kind, slot_flags(msg) | flags, msg,
			  (uint32_t)ru_min(len, UINT32_MAX), ref);
		RU_KILL_POINT("rd.ref_filled");
		rosm_ring_publish(&p->tx, slot, pos, rd->inst->who);
		RU_KILL_POINT("rd.ref_published");
		rosm_ring_notify(p->peer, p->tx.hdr, true);
		share_taken(p, pos);
	}
	rosm_hazard_clear_qp(rd->inst, h);
	return slot ? 0 : -EAGAIN;
}

/* Announced, or whole with an answer: the SENT event comes later. */
static int send_asking(struct rosm_rd *rd, struct rosm_rd_peer *p,
		       const struct rosm_rd_msg *msg, uint64_t len)
{
	bool whole = len <= rd->eager_bytes && len <= p->tx.chunk_bytes;
	struct rosm_rd_op *op;
	uint32_t i;
	int rc;

	ru_lock_acquire(&rd->lock);
	op = rosm_rd_op_get_locked(rd, ROSM_RD_OP_SEND);
	if (!op) {
		ru_lock_release(&rd->lock);
		return -EAGAIN;
	}
	op->peer = p;
	op->context = msg->context;
	op->len = len;
	op->iov_count = msg->iov_count;
	for (i = 0; i < msg->iov_count; i++)
		op->iov[i] = msg->iov[i];
	op->counted = whole;
	rosm_rd_op_open(op);
	/* before the slot: the answer may be here at once */
	ru_list_add_tail(&rd->pending, &op->link);
	ru_lock_release(&rd->lock);

	if (whole)
		rc = send_whole(rd, p, msg, len,
				rosm_rd_ref(op->own_off, op->seq));
	else
		rc = rosm_rd_publish_ref(rd, p, ROSM_SLOT_RD_RTS,
					 ROSM_SLOT_F_ACK, msg, len,
					 rosm_rd_ref(op->own_off, op->seq));
	if (!rc)
		return ROSM_RD_PENDING;
	ru_lock_acquire(&rd->lock);
	atomic_store_explicit(&op->own->state, ROSM_XFER_FREE,
			      memory_order_relaxed);
	ru_list_del(&op->link);
	rosm_rd_op_put_locked(rd, op);
	ru_lock_release(&rd->lock);
	return rc;
}

static RU_NOINLINE int send_any(struct rosm_rd *rd, struct rosm_rd_peer *peer,
				const struct rosm_rd_msg *msg)
{
	uint64_t len;
	int rc;

	if (msg->iov_count > ROSM_RD_IOV)
		return -EINVAL;
	len = ru_iov_len(msg->iov, msg->iov_count);
	if (len > UINT64_MAX / 2)
		return -EINVAL;
	rc = rosm_rd_up(rd, peer);
	if (rc)
		return rc;
	if (len > rd->eager_bytes || len > peer->tx.chunk_bytes) {
		if (msg->flags & ROSM_RD_WHOLE)
			return -EMSGSIZE;
	} else if (!(msg->flags & ROSM_RD_ACK)) {
		return send_whole(rd, peer, msg, len, 0);
	}
	return send_asking(rd, peer, msg, len);
}

int rosm_rd_send(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		 const struct rosm_rd_msg *msg)
{
	if (ru_likely(msg->iov_count == 1 &&
		      msg->iov->iov_len <= ROSM_SLOT_RD_INLINE &&
		      !(msg->flags & ROSM_RD_ACK) &&
		      rosm_rd_state(peer) == ROSM_RD_UP))
		return send_small(rd, peer, msg,
				  (uint32_t)msg->iov->iov_len);
	return send_any(rd, peer, msg);
}

int rosm_rd_announce(struct rosm_rd *rd, struct rosm_rd_peer *p, uint64_t len,
		     uint64_t data)
{
	struct rosm_rd_msg msg = {
		.tag = len,
		.data = data,
		.flags = ROSM_RD_DATA,
	};

	return rosm_rd_publish_ref(rd, p, ROSM_SLOT_RD_RMA, 0, &msg, 0, 0);
}

/* Data of finished writes that found the ring full. */
void rosm_rd_announce_again(struct rosm_rd *rd)
{
	struct ru_list *l, *next;

	ru_lock_acquire(&rd->lock);
	ru_list_for_each_safe(l, next, &rd->announce) {
		struct rosm_rd_op *op =
			ru_list_entry(l, struct rosm_rd_op, link);
		int rc = rosm_rd_announce(rd, op->peer, op->len, op->data);

		if (rc == -EAGAIN)
			break;
		rosm_rd_op_done_locked(rd, op, rc);
	}
	ru_lock_release(&rd->lock);
}
