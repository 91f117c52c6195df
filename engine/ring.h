/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arrival ring, both ends. The consumer end belongs to one CQ or RD
 * endpoint and is guarded by its lock; a producer end (struct rosm_ring_tx) is
 * private to one QP or RD peer and guarded by that. Layout and the claiming
 * rule: engine/wire/ring.h; orders: docs/memory-ordering.md, ring.
 */
#ifndef ROSM_RING_H
#define ROSM_RING_H

#include "engine/peer.h"
#include "engine/wire/ring.h"
#include "util/compiler.h"
#include "util/membarrier.h"

struct rosm_ring {
	struct rosm_inst *inst;
	struct rosm_wire_ring *hdr;
	struct rosm_wire_slot *slots;
	uint8_t *chunk;
	uint64_t off;		/* of hdr in the rw segment */
	uint32_t mask;
	uint32_t log2;		/* lap of a position = position >> log2 */
	uint32_t chunk_mask;
	uint32_t chunk_bytes;
	uint32_t publish_every;	/* positions between two stores of head */
	uint32_t ahead;		/* consumed beyond head */
	uint64_t head;		/* next to consume */
	uint64_t head_shown;
};

/*
 * slots and chunks (0: none) are rounded up to powers of two; bell: index in
 * bell_fd + 1 of the owner's channel, 0 none. -ENOMEM.
 */
int rosm_ring_create(struct rosm_ring *ring, struct rosm_inst *inst,
		     uint32_t slots, uint32_t chunks, uint32_t chunk_bytes,
		     uint32_t bell);
void rosm_ring_destroy(struct rosm_ring *ring);

/* The rest of rosm_ring_peek: look past slots that are still being filled. */
struct rosm_wire_slot *rosm_ring_peek_past(struct rosm_ring *ring,
					   uint64_t *pos_out);

/*
 * The next published slot, NULL if there is none. It stays the consumer's
 * until rosm_ring_free. Slots of slow producers are passed over.
 */
static inline struct rosm_wire_slot *rosm_ring_peek(struct rosm_ring *ring,
						    uint64_t *pos_out)
{
	uint64_t pos = ring->head;
	struct rosm_wire_slot *slot = &ring->slots[pos & ring->mask];
	/* A-ring1: pairs with R-ring1 in rosm_ring_publish */
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
	uint64_t want = pos >> ring->log2 & ROSM_SLOT_LAP_MASK;

	if (ru_likely((word >> 40) == (want << 2 | ROSM_SLOT_PUBLISHED))) {
		*pos_out = pos;
		return slot;
	}
	if ((word >> 40) == (want << 2 | ROSM_SLOT_FREE))
		return NULL;
	return rosm_ring_peek_past(ring, pos_out);
}

/*
 * Before reading inline payload: keeps the producer from delivering the same
 * bytes by itself at the same time. False when it is doing so now.
 */
static inline bool rosm_ring_take(struct rosm_ring *ring,
				  struct rosm_wire_slot *slot, uint64_t pos)
{
	uint64_t lap = pos >> ring->log2;
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);

	return rosm_slot_word_state(word) == ROSM_SLOT_PUBLISHED &&
	       atomic_compare_exchange_strong_explicit(
		       &slot->word, &word,
		       rosm_slot_word(lap, ROSM_SLOT_TAKEN, ring->inst->who),
		       memory_order_acquire, memory_order_relaxed);
}

void rosm_ring_free_past(struct rosm_ring *ring, uint64_t pos);

/* Give a consumed slot back. */
static inline void rosm_ring_free(struct rosm_ring *ring, uint64_t pos)
{
	/* R-ring2: the consumer's reads of the slot come before it is FREE */
	atomic_store_explicit(&ring->slots[pos & ring->mask].word,
			      rosm_slot_word((pos >> ring->log2) + 1,
					     ROSM_SLOT_FREE, 0),
			      memory_order_release);
	if (ru_unlikely(pos != ring->head || ring->ahead)) {
		rosm_ring_free_past(ring, pos);
		return;
	}
	ring->head = pos + 1;
	if (ru_unlikely(ring->head - ring->head_shown >= ring->publish_every)) {
		ring->head_shown = ring->head;
		/* R-ring3: slots before head are FREE when head is seen */
		atomic_store_explicit(&ring->hdr->head, ring->head,
				      memory_order_release);
	}
}

/* Payload of a slot with ROSM_SLOT_F_CHUNK. */
static inline uint8_t *rosm_ring_chunk(struct rosm_ring *ring, uint64_t pos)
{
	return ring->chunk + (size_t)(pos & ring->chunk_mask) *
			     ring->chunk_bytes;
}

/*
 * A producer died: slots that it had claimed are passed over from now on,
 * those that it was delivering by itself are the consumer's again.
 */
void rosm_ring_reap(struct rosm_ring *ring, uint64_t who);

/* ---- producer end --------------------------------------------------- */

struct rosm_ring_tx {
	struct rosm_peer *peer;
	struct rosm_wire_ring *hdr;
	struct rosm_wire_slot *slots;
	uint8_t *chunk;
	uint32_t mask;
	uint32_t log2;
	uint32_t chunks;	/* 0: none */
	uint32_t chunk_bytes;
	uint64_t hint;		/* never beyond the first FREE position */
	uint64_t head;		/* as last seen */
};

/* Reads and checks the header once. -EPROTO: it makes no sense. */
int rosm_ring_tx_init(struct rosm_ring_tx *tx, struct rosm_peer *peer,
		      uint64_t ring_off);

/*
 * Claim the next position for `who` (the claiming instance); NULL when the
 * ring is full. Fill the slot, then publish. No system call in between.
 */
struct rosm_wire_slot *rosm_ring_claim(struct rosm_ring_tx *tx, uint64_t who,
				       uint64_t *pos_out);

static inline void rosm_ring_publish(struct rosm_ring_tx *tx,
				     struct rosm_wire_slot *slot, uint64_t pos,
				     uint64_t who)
{
	/* R-ring1: publishes the slot; pairs with A-ring1 in rosm_ring_peek */
	atomic_store_explicit(&slot->word,
			      rosm_slot_word(pos >> tx->log2,
					     ROSM_SLOT_PUBLISHED, who),
			      memory_order_release);
}

/* Whether a position that this end published was consumed since. */
static inline bool rosm_ring_consumed(struct rosm_ring_tx *tx, uint64_t pos)
{
	uint64_t word = atomic_load_explicit(&tx->slots[pos & tx->mask].word,
					     memory_order_acquire);

	return rosm_slot_word_lap(word) !=
	       (pos >> tx->log2 & ROSM_SLOT_LAP_MASK);
}

/*
 * Whether the chunk of the position that will probably be claimed next is
 * free; reads the consumer's head only if what was last seen does not say so.
 */
static inline bool rosm_ring_chunk_likely(struct rosm_ring_tx *tx)
{
	if (!tx->chunks)
		return false;
	if (ru_unlikely(tx->hint - tx->head >= tx->chunks)) {
		/* A-ring3: pairs with R-ring3 */
		tx->head = atomic_load_explicit(&tx->hdr->head,
						memory_order_acquire);
		/* others were faster: the first FREE position is not before */
		if (tx->hint < tx->head)
			tx->hint = tx->head;
	}
	return tx->hint - tx->head < tx->chunks;
}

/* The same for a claimed position; certain. */
static inline uint8_t *rosm_ring_tx_chunk(struct rosm_ring_tx *tx, uint64_t pos)
{
	if (ru_unlikely(pos - tx->head >= tx->chunks))
		/* A-ring3 */
		tx->head = atomic_load_explicit(&tx->hdr->head,
						memory_order_acquire);
	if (pos - tx->head >= tx->chunks)
		return NULL;
	return tx->chunk + (size_t)(pos & (tx->chunks - 1)) * tx->chunk_bytes;
}

/*
 * After a publish: fire the consumer's channel if it is armed. solicited: the
 * completion is solicited or an error.
 */
void rosm_ring_fire(struct rosm_peer *peer, struct rosm_wire_ring *hdr,
		    bool solicited);

static inline void rosm_ring_notify(struct rosm_peer *peer,
				    struct rosm_wire_ring *hdr, bool solicited)
{
	/*
	 * A-arm: the publish before, the look at armed after; the arming side
	 * stores armed, then membarrier (R-arm in cq.c), then looks for slots.
	 */
	if (ru_likely(peer->fenced))
		atomic_signal_fence(memory_order_seq_cst);
	else
		ru_fence();
	if (ru_unlikely(atomic_load_explicit(&hdr->armed,
					     memory_order_relaxed)))
		rosm_ring_fire(peer, hdr, solicited);
}

#endif
