/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every call that finds nothing to do does for others: serve peers that
 * wait for this process, run its own send queues that wait, act on errors
 * that peers found, and on their deaths. No locks may be held.
 */
#ifndef ROSM_PROGRESS_H
#define ROSM_PROGRESS_H

#include "engine/peer.h"

/* Empty polls in a row before the core is offered to others. */
#define ROSM_IDLE_POLLS_MAX	512u
#define ROSM_IDLE_POLLS_MIN	8u

/* Offer the core; how long that took tells how soon it is worth it again. */
void rosm_progress_yield(struct rosm_inst *inst);
void rosm_progress_slow(struct rosm_inst *inst);
void rosm_progress_attn(struct rosm_inst *inst);

/* Whether anybody waits for this instance: one line, in cache unless so. */
static inline bool rosm_progress_wanted(struct rosm_inst *inst)
{
	return atomic_load_explicit(&inst->rwh->attn_sum,
				    memory_order_relaxed) ||
	       atomic_load_explicit(&inst->rwh->naks, memory_order_relaxed) !=
		       inst->naks_seen ||
	       atomic_load_explicit(&inst->busy_count, memory_order_relaxed) ||
	       atomic_load_explicit(&inst->dead_count, memory_order_relaxed) ||
	       atomic_load_explicit(&inst->lost, memory_order_relaxed) !=
		       atomic_load_explicit(&inst->lost_told,
					    memory_order_relaxed) ||
	       rosm_rd_wants_service(inst);
}

/* What was polled was there. */
static inline void rosm_progress_busy(struct rosm_inst *inst)
{
	if (atomic_load_explicit(&inst->idle, memory_order_relaxed))
		atomic_store_explicit(&inst->idle, 0, memory_order_relaxed);
}

/*
 * A call that found nothing. Programs spin; where more of them spin than
 * there are cores, the one that has work must get one: after so many calls
 * that found nothing, the core is offered now and then.
 */
static inline void rosm_progress(struct rosm_inst *inst)
{
	uint32_t idle = atomic_load_explicit(&inst->idle,
					     memory_order_relaxed) + 1;

	atomic_store_explicit(&inst->idle, idle, memory_order_relaxed);
	if (ru_unlikely(idle >= atomic_load_explicit(&inst->idle_max,
						     memory_order_relaxed)))
		rosm_progress_yield(inst);
	/*
	 * A death that is found here is acted upon here: the caller may sleep
	 * next, and the dead one's pidfd wakes nobody any more.
	 */
	if (!rosm_progress_wanted(inst))
		rosm_peers_watch(inst);
	if (rosm_progress_wanted(inst))
		rosm_progress_slow(inst);
}

#endif
