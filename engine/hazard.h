/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hazard lines: what the threads of this instance are touching right now, in
 * its own read-only segment where every peer can look.
 *
 * The fast side (a copy) stores the line, then a compiler barrier, then reads
 * the state it is about to rely on (A-haz). The slow side (dereg_mr,
 * destroy_qp, a state change) stores the new state, calls membarrier (R-haz),
 * then scans the lines of all attached instances and waits while one names it;
 * a line of a dead process does not count. Where membarrier is not
 * available on both sides, the fast side fences (inst->self->fenced).
 */
#ifndef ROSM_HAZARD_H
#define ROSM_HAZARD_H

#include "engine/inst.h"
#include "util/compiler.h"
#include "util/membarrier.h"

/* The line that this thread has, and of which instance; hazard.c. */
struct rosm_hazard_mine {
	uint64_t who;
	struct rosm_wire_hazard *line;
};

extern _Thread_local struct rosm_hazard_mine rosm_hazard_mine;

struct rosm_wire_hazard *rosm_hazard_take(struct rosm_inst *inst);

/*
 * This thread's line. Never NULL: past ROSM_WIRE_HAZARDS threads a shared line
 * is taken with a lock, released by rosm_hazard_clear.
 */
static inline struct rosm_wire_hazard *rosm_hazard_line(struct rosm_inst *inst)
{
	const struct rosm_hazard_mine *mine = &rosm_hazard_mine;

	return ru_likely(mine->who == inst->who) ? mine->line :
						   rosm_hazard_take(inst);
}

/* All named at once; 0 where there is nothing. who: owners (peer->who). */
static inline void rosm_hazard_qp(struct rosm_wire_hazard *h, uint64_t who,
				  uint32_t qp_index)
{
	atomic_store_explicit(&h->owner, who, memory_order_relaxed);
	atomic_store_explicit(&h->qp, 1ull << 32 | qp_index,
			      memory_order_relaxed);
}

static inline void rosm_hazard_mr(struct rosm_wire_hazard *h, uint64_t who,
				  uint32_t key)
{
	atomic_store_explicit(&h->owner, who, memory_order_relaxed);
	atomic_store_explicit(&h->mr, 1ull << 32 | key, memory_order_relaxed);
}

static inline void rosm_hazard_mr2(struct rosm_wire_hazard *h, uint64_t who,
				   uint32_t key)
{
	atomic_store_explicit(&h->owner2, who, memory_order_relaxed);
	atomic_store_explicit(&h->mr2, 1ull << 32 | key, memory_order_relaxed);
}

/* Between naming and reading the state. */
static inline void rosm_hazard_barrier(bool fenced_by_membarrier)
{
	if (fenced_by_membarrier)
		atomic_signal_fence(memory_order_seq_cst);	/* A-haz */
	else
		ru_fence();
}

/* The last of the lines, which lie at their place in a page. */
#define ROSM_HAZARD_SHARED	(ROSM_WIRE_HAZARDS - 1)

static_assert(ROSM_WIRE_HAZARDS * sizeof(struct rosm_wire_hazard) == 4096 &&
		      ROSM_RO_HAZARD_OFF % 4096 == 0,
	      "a page of lines");

static inline bool rosm_hazard_is_shared(const struct rosm_wire_hazard *h)
{
	return ((uintptr_t)h & 4095) == ROSM_HAZARD_SHARED * sizeof(*h);
}

void rosm_hazard_clear(struct rosm_inst *inst, struct rosm_wire_hazard *h);

/* The same where only a QP was named. */
static inline void rosm_hazard_clear_qp(struct rosm_inst *inst,
					struct rosm_wire_hazard *h)
{
	if (ru_unlikely(rosm_hazard_is_shared(h))) {
		rosm_hazard_clear(inst, h);
		return;
	}
	/* R-hazclr; A-hazclr in hazard.c */
	atomic_store_explicit(&h->qp, 0, memory_order_release);
	atomic_store_explicit(
		&h->uses,
		atomic_load_explicit(&h->uses, memory_order_relaxed) + 1,
		memory_order_release);
}

/*
 * Wait until no attached instance (own threads included) names the MR key, or
 * the QP index, of this instance. The caller has stored the new state.
 */
void rosm_hazard_drain_mr(struct rosm_inst *inst, uint32_t key);
void rosm_hazard_drain_qp(struct rosm_inst *inst, uint32_t qp_index);

/* Until the peer's own threads do not name its key: it serves us with it. */
void rosm_hazard_drain_theirs(struct rosm_peer *peer, uint32_t key);

#endif
