/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which mover carries the next large transfer of a pair: the one that was
 * faster when last measured. Rates depend on where the two processes run and
 * change while they run, so the loser is tried again from time to time.
 *
 * One struct for each pair and direction, private to its user, zeroed at
 * first. What is found is also left in the peer (cma_mbps, bounce_mbps).
 */
#ifndef ROSM_MOVE_SELECT_H
#define ROSM_MOVE_SELECT_H

#include "engine/peer.h"

struct rosm_select {
	uint32_t count;		/* large transfers so far */
	uint32_t cma_mbps;	/* 0: not measured */
	uint32_t bounce_mbps;
	uint32_t probe_us;	/* spent on trying the slower one */
	uint64_t next_ns;	/* not before this: the next try */
};

/*
 * ROSM_MOVER_SELF, _CMA or _BOUNCE for len bytes; can_cma: whether this side
 * can reach the peer's memory at all.
 */
enum rosm_mover rosm_select_pick(struct rosm_select *s, struct rosm_peer *peer,
				 uint64_t len_bytes, bool can_cma);

/* How long that took. */
void rosm_select_done(struct rosm_select *s, struct rosm_peer *peer,
		      enum rosm_mover mover, uint64_t len_bytes, uint64_t ns);

#endif
