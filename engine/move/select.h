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
	uint32_t tries;		/* bounces that a try still wants to see over */
	uint32_t try_end;	/* count at which it ends anyway */
	/* bounces that overlap count together */
	uint32_t under_way;
	uint64_t busy_ns;	/* since when there are some */
	uint64_t busy_bytes;	/* moved since then */
	uint64_t heard_ns;	/* when the last of these was moved */
};

/*
 * ROSM_MOVER_SELF, _CMA or _BOUNCE for len bytes; can_cma: whether this side
 * can reach the peer's memory at all.
 */
enum rosm_mover rosm_select_pick(struct rosm_select *s, struct rosm_peer *peer,
				 uint64_t len_bytes, bool can_cma);

static inline void rosm_select_begin(struct rosm_select *s, uint64_t now_ns)
{
	if (s->under_way++)
		return;
	s->busy_ns = now_ns;
	s->busy_bytes = 0;
}

/* Part of a bounce. */
static inline void rosm_select_moved(struct rosm_select *s, uint64_t bytes,
				     uint64_t now_ns)
{
	s->busy_bytes += bytes;
	s->heard_ns = now_ns;
}

/* A bounce that the other side left to us: it says nothing. */
static inline void rosm_select_left(struct rosm_select *s)
{
	if (s->under_way)
		s->under_way--;
}

/* From when to when that took. */
void rosm_select_done(struct rosm_select *s, struct rosm_peer *peer,
		      enum rosm_mover mover, uint64_t len_bytes,
		      uint64_t start_ns, uint64_t end_ns);

#endif
