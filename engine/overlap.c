/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small Send is copied into the RECV's buffer at the receiver's poll. A
 * WRITE or READ of the same bytes that follows on the same queue pair must
 * find it there already, and the receiver may not be in a call. So the
 * executor delivers it: it takes the slot (PUBLISHED -> TAKEN), copies the
 * payload to the buffers, marks the slot as carrying none, and publishes it
 * again. If it dies while the slot is TAKEN the payload is still whole
 * (rosm_ring_reap). The hazard line names all regions of the receiver.
 */
#include <config.h>

#include "engine/overlap.h"

#include <string.h>

#include "engine/hazard.h"
#include "engine/move/move.h"
#include "engine/mr.h"
#include "util/fault.h"

static bool overlaps(const struct iovec *a, const struct iovec *b)
{
	uintptr_t x = (uintptr_t)a->iov_base, y = (uintptr_t)b->iov_base;

	return x < y + b->iov_len && y < x + a->iov_len;
}

/* The buffers that len bytes of this slot's RECV fill; whether any overlap. */
static bool find_buffers(struct rosm_conn *c, uint32_t recv_index, uint32_t len,
			 const struct iovec *range, struct iovec *iov,
			 uint32_t *count_out)
{
	const struct rosm_wire_recv *w =
		(const void *)(c->rq + (size_t)(recv_index & c->rq_mask) *
					       c->rq_stride);
	uint32_t i, n = w->num_sge, count = 0;
	bool hit = false;

	if (n > ROSM_MAX_SGE ||
	    n > (c->rq_stride - sizeof(*w)) / sizeof(struct rosm_wire_sge))
		return false;
	for (i = 0; i < n && len; i++) {
		struct rosm_wire_sge s = w->sge[i];
		uint64_t va;

		if (!s.len)
			continue;
		if (rosm_mr_check(c->dst, s.lkey, s.addr, s.len, c->dst_pd,
				  ROSM_ACCESS_LOCAL_WRITE, &va))
			return false;	/* its own poll will find out */
		iov[count].iov_base = (void *)(uintptr_t)va;
		iov[count].iov_len = s.len < len ? s.len : len;
		len -= (uint32_t)iov[count].iov_len;
		hit |= overlaps(&iov[count++], range);
	}
	*count_out = count;
	return hit && !len;
}

static bool deliver(struct rosm_conn *c, struct rosm_wire_slot *slot,
		    uint64_t pos, const struct iovec *range)
{
	uint64_t lap = pos >> c->tx.log2, word;
	struct iovec to[ROSM_MAX_SGE], from;
	struct rosm_end src = { c->inst->self, &from, 1 };
	struct rosm_end dst = { c->dst, to, 0 };
	enum rosm_move_fault fault;
	uint32_t len = slot->len32;
	uint8_t flags = slot->flags;
	uint32_t room = flags & ROSM_SLOT_F_INLINE ? ROSM_SLOT_RC_INLINE :
			c->tx.chunks ? c->tx.chunk_bytes : 0;
	int rc;

	if (len > room)
		return true;	/* not ours to believe: its owner drops it */
	if (!find_buffers(c, slot->rc.recv_index, len, range, to,
			  &dst.iov_count))
		return true;
	if (!rosm_move_can_write(c->dst))
		return false;
	word = atomic_load_explicit(&slot->word, memory_order_relaxed);
	if (rosm_slot_word_state(word) != ROSM_SLOT_PUBLISHED ||
	    rosm_slot_word_lap(word) != (lap & ROSM_SLOT_LAP_MASK) ||
	    !atomic_compare_exchange_strong_explicit(
		    &slot->word, &word,
		    rosm_slot_word(lap, ROSM_SLOT_TAKEN, c->inst->who),
		    memory_order_acquire, memory_order_relaxed))
		/* the receiver is at it, or has it */
		return rosm_slot_word_state(word) != ROSM_SLOT_TAKEN;
	RU_KILL_POINT("rc.taken");
	if (flags & ROSM_SLOT_F_INLINE)
		from.iov_base = slot->rc.payload;
	else
		from.iov_base = c->tx.chunk + (size_t)(pos & (c->tx.chunks - 1)) *
						      c->tx.chunk_bytes;
	from.iov_len = len;
	rc = rosm_move(&src, &dst, len, &fault);
	if (!rc)
		slot->flags = flags & (uint8_t)~(ROSM_SLOT_F_INLINE |
						 ROSM_SLOT_F_CHUNK);
	rosm_ring_publish(&c->tx, slot, pos, rosm_slot_word_who(word));
	return !rc;
}

bool rosm_overlap_settle(struct rosm_conn *c, struct rosm_wire_hazard *h,
			 const struct iovec *range)
{
	uint64_t mr = atomic_load_explicit(&h->mr, memory_order_relaxed);
	uint64_t pos, head;
	bool ok = true, left = false;

	if (!c->inline_unknown && rosm_ring_consumed(&c->tx, c->inline_pos)) {
		c->inline_left = false;
		return true;
	}
	rosm_hazard_mr(h, c->dst->who, ROSM_HAZARD_ALL);
	rosm_hazard_barrier(c->dst->fenced);
	/* from what is consumed for certain to the first that nobody claimed */
	head = atomic_load_explicit(&c->tx.hdr->head, memory_order_acquire);
	for (pos = head; ok && pos - head <= c->tx.mask; pos++) {
		struct rosm_wire_slot *slot = &c->tx.slots[pos & c->tx.mask];
		uint64_t word = atomic_load_explicit(&slot->word,
						     memory_order_acquire);
		bool here = rosm_slot_word_lap(word) ==
			    (pos >> c->tx.log2 & ROSM_SLOT_LAP_MASK);

		if (here && rosm_slot_word_state(word) == ROSM_SLOT_FREE)
			break;
		if (!here || rosm_slot_word_state(word) < ROSM_SLOT_PUBLISHED ||
		    slot->qpn != c->dst_qpn || slot->kind != ROSM_SLOT_SEND ||
		    !(slot->flags & (ROSM_SLOT_F_INLINE | ROSM_SLOT_F_CHUNK)))
			continue;
		left = true;
		ok = deliver(c, slot, pos, range);
	}
	atomic_store_explicit(&h->mr, mr, memory_order_release);
	if (ok && !left) {
		c->inline_left = false;
		c->inline_unknown = false;
	}
	return ok;
}
