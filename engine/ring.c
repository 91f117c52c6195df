/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slow ways of the arrival ring: creation, looking past slots that are being
 * filled, claiming, and what death leaves behind. See ring.h.
 *
 * If a producer stops between claim and publish, its slot stays CLAIMED: the
 * consumer delivers what others published behind it, and rosm_ring_reap frees
 * the slot once the producer's death is proven. If it stops before the claim,
 * nothing happened; after the publish, the message counts.
 */
#include <config.h>

#include "engine/ring.h"

#include <errno.h>
#include <string.h>

#include "util/fault.h"
#include "util/log.h"

/* How far a consumer looks past slots that are not published yet. */
#define LOOK_AHEAD	256u

static uint32_t log2_of(uint32_t pow2)
{
	return (uint32_t)__builtin_ctz(pow2);
}

int rosm_ring_create(struct rosm_ring *ring, struct rosm_inst *inst,
		     uint32_t slots, uint32_t chunks, uint32_t chunk_bytes,
		     uint32_t bell)
{
	size_t slot_bytes, chunk_total;
	uint64_t off;
	int rc;

	slots = (uint32_t)ru_roundup_pow2(slots < 16 ? 16 : slots);
	if (chunks)
		chunks = (uint32_t)ru_roundup_pow2(chunks);
	if (chunks > slots)
		chunks = slots;
	slot_bytes = (size_t)slots * sizeof(struct rosm_wire_slot);
	chunk_total = (size_t)chunks * chunk_bytes;
	rc = ru_shmalloc_get(&inst->rw_heap,
			     sizeof(struct rosm_wire_ring) + slot_bytes +
				     chunk_total,
			     4096, &off);
	if (rc)
		return rc;

	memset(ring, 0, sizeof(*ring));
	ring->inst = inst;
	ring->off = off;
	ring->hdr = ru_shmalloc_ptr(&inst->rw_heap, off);
	ring->slots = (void *)(ring->hdr + 1);
	ring->chunk = (uint8_t *)ring->slots + slot_bytes;
	ring->mask = slots - 1;
	ring->log2 = log2_of(slots);
	ring->chunk_mask = chunks ? chunks - 1 : 0;
	ring->chunk_bytes = chunk_bytes;
	ring->publish_every = (chunks ? chunks : slots) / 4;
	ring->hdr->slots = slots;
	ring->hdr->chunks = chunks;
	ring->hdr->chunk_bytes = chunk_bytes;
	ring->hdr->bell = bell;
	ring->hdr->slot_off = off + sizeof(struct rosm_wire_ring);
	ring->hdr->chunk_off = ring->hdr->slot_off + slot_bytes;
	return 0;
}

void rosm_ring_destroy(struct rosm_ring *ring)
{
	if (ring->hdr)
		ru_shmalloc_put(&ring->inst->rw_heap, ring->off);
	memset(ring, 0, sizeof(*ring));
}

static int32_t lap_diff(uint64_t word, uint64_t pos, uint32_t log2)
{
	uint32_t d = rosm_slot_word_lap(word) - (uint32_t)(pos >> log2);

	/* sign-extend 22 bits */
	return (int32_t)(d << 10) >> 10;
}

/*
 * The first published slot before end; *passed_out: slots that are still being
 * filled lie before it.
 */
static struct rosm_wire_slot *scan(struct rosm_ring *ring, uint64_t end,
				   uint64_t *pos_out, bool *passed_out)
{
	uint32_t blocked = 0;		/* QPN whose order must be kept */
	uint64_t pos;

	*passed_out = false;
	for (pos = ring->head; pos < end; pos++) {
		struct rosm_wire_slot *slot = &ring->slots[pos & ring->mask];
		uint64_t word = atomic_load_explicit(&slot->word,
						     memory_order_acquire);
		int32_t diff = lap_diff(word, pos, ring->log2);

		if (diff > 0)
			continue;	/* consumed already */
		if (diff < 0)
			return NULL;	/* nobody has been here yet */
		switch (rosm_slot_word_state(word)) {
		case ROSM_SLOT_FREE:
			return NULL;
		case ROSM_SLOT_CLAIMED:
			*passed_out = true;
			continue;
		case ROSM_SLOT_TAKEN:
			if (blocked && blocked != slot->qpn)
				return NULL;
			blocked = slot->qpn;
			continue;
		case ROSM_SLOT_PUBLISHED:
			if (blocked && blocked == slot->qpn)
				continue;
			*pos_out = pos;
			return slot;
		}
	}
	return NULL;
}

/*
 * A producer may publish a slot that was just passed over and then the one
 * that was found. Having acquired the later one, a second look sees the
 * earlier one as published, and the first of both is the next in order.
 */
struct rosm_wire_slot *rosm_ring_peek_past(struct rosm_ring *ring,
					   uint64_t *pos_out)
{
	uint64_t end = ring->head + ru_min(LOOK_AHEAD, ring->mask + 1ull);
	struct rosm_wire_slot *slot;
	bool passed;

	slot = scan(ring, end, pos_out, &passed);
	if (slot && passed)
		slot = scan(ring, *pos_out + 1, pos_out, &passed);
	return slot;
}

void rosm_ring_free_past(struct rosm_ring *ring, uint64_t pos)
{
	if (pos != ring->head)
		ring->ahead++;
	else
		ring->head++;
	while (ring->ahead) {
		uint64_t word = atomic_load_explicit(
			&ring->slots[ring->head & ring->mask].word,
			memory_order_relaxed);

		if (lap_diff(word, ring->head, ring->log2) <= 0)
			break;
		ring->head++;
		ring->ahead--;
	}
	if (ring->head - ring->head_shown >= ring->publish_every) {
		ring->head_shown = ring->head;
		atomic_store_explicit(&ring->hdr->head, ring->head,
				      memory_order_release);
	}
}

void rosm_ring_reap(struct rosm_ring *ring, uint64_t who)
{
	uint64_t end = ring->head + ring->mask + 1;
	uint64_t pos;

	for (pos = ring->head; pos != end; pos++) {
		struct rosm_wire_slot *slot = &ring->slots[pos & ring->mask];
		uint64_t word = atomic_load_explicit(&slot->word,
						     memory_order_acquire);

		if (lap_diff(word, pos, ring->log2) ||
		    rosm_slot_word_who(word) != who)
			continue;
		if (rosm_slot_word_state(word) == ROSM_SLOT_CLAIMED)
			rosm_ring_free(ring, pos);
		else if (rosm_slot_word_state(word) == ROSM_SLOT_TAKEN)
			/* payload is whole: it was published before */
			atomic_store_explicit(
				&slot->word,
				rosm_slot_word(pos >> ring->log2,
					       ROSM_SLOT_PUBLISHED, who),
				memory_order_release);
	}
}

int rosm_ring_tx_init(struct rosm_ring_tx *tx, struct rosm_peer *peer,
		      uint64_t ring_off)
{
	struct rosm_wire_ring *hdr, h;

	hdr = rosm_peer_rw(peer, ring_off, sizeof(*hdr));
	if (!hdr)
		return -EPROTO;
	h.slots = hdr->slots;
	h.chunks = hdr->chunks;
	h.chunk_bytes = hdr->chunk_bytes;
	h.slot_off = hdr->slot_off;
	h.chunk_off = hdr->chunk_off;
	if (h.slots < 2 || (h.slots & (h.slots - 1)) ||
	    (h.chunks & (h.chunks - 1)) || h.chunks > h.slots)
		return -EPROTO;

	memset(tx, 0, sizeof(*tx));
	tx->peer = peer;
	tx->hdr = hdr;
	tx->slots = rosm_peer_rw(peer, h.slot_off,
				 (uint64_t)h.slots * sizeof(*tx->slots));
	if (!tx->slots)
		return -EPROTO;
	if (h.chunks) {
		tx->chunk = rosm_peer_rw(peer, h.chunk_off,
					 (uint64_t)h.chunks * h.chunk_bytes);
		if (!tx->chunk)
			return -EPROTO;
	}
	tx->mask = h.slots - 1;
	tx->log2 = log2_of(h.slots);
	tx->chunks = h.chunks;
	tx->chunk_bytes = h.chunk_bytes;
	tx->head = atomic_load_explicit(&hdr->head, memory_order_acquire);
	tx->hint = tx->head;
	return 0;
}

/* Far behind the others: both words are never beyond the first FREE slot. */
static uint64_t catch_up(struct rosm_ring_tx *tx, uint64_t pos)
{
	uint64_t tail = atomic_load_explicit(&tx->hdr->tail_hint,
					     memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&tx->hdr->head,
					     memory_order_acquire);

	tx->head = head;
	if (tail > pos)
		pos = tail;
	return head > pos ? head : pos;
}

struct rosm_wire_slot *rosm_ring_claim(struct rosm_ring_tx *tx, uint64_t who,
				       uint64_t *pos_out)
{
	uint64_t pos = tx->hint;
	unsigned int passed = 0;

	for (;;) {
		struct rosm_wire_slot *slot = &tx->slots[pos & tx->mask];
		uint64_t lap = pos >> tx->log2;
		uint64_t word = rosm_slot_word(lap, ROSM_SLOT_FREE, 0);

		/* A-ring2: pairs with R-ring2 in rosm_ring_free */
		if (ru_likely(atomic_compare_exchange_strong_explicit(
			    &slot->word, &word,
			    rosm_slot_word(lap, ROSM_SLOT_CLAIMED, who),
			    memory_order_acquire, memory_order_relaxed))) {
			RU_KILL_POINT("ring.claimed");
			tx->hint = pos + 1;
			if (ru_unlikely(!(pos & 15)) &&
			    pos > atomic_load_explicit(&tx->hdr->tail_hint,
						       memory_order_relaxed))
				atomic_store_explicit(&tx->hdr->tail_hint, pos,
						      memory_order_relaxed);
			*pos_out = pos;
			return slot;
		}
		if (lap_diff(word, pos, tx->log2) < 0) {
			tx->hint = pos;
			return NULL;	/* full: last lap's message is there */
		}
		pos++;
		if (++passed == 4) {
			passed = 0;
			pos = catch_up(tx, pos);
		}
		if (pos - tx->hint > 2ull * tx->mask + 2 &&
		    pos - tx->head > 2ull * tx->mask + 2)
			return NULL;	/* the words make no sense */
	}
}

void rosm_ring_fire(struct rosm_peer *peer, struct rosm_wire_ring *hdr,
		    bool solicited)
{
	uint32_t armed = atomic_load_explicit(&hdr->armed,
					      memory_order_relaxed);
	uint32_t bell = hdr->bell;

	if (!armed || (armed == 2 && !solicited))
		return;
	if (!atomic_compare_exchange_strong_explicit(&hdr->armed, &armed, 0,
						     memory_order_acq_rel,
						     memory_order_relaxed))
		return;
	RU_KILL_POINT("ring.disarmed");
	/* R-fired: pairs with A-fired in channel.c */
	atomic_store_explicit(&hdr->fired, 1, memory_order_release);
	if (bell && bell <= ROSM_WIRE_BELLS)
		rosm_peer_ring_bell(peer, bell - 1);
}
