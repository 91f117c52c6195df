/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which way a Send of middle size goes: twice through the cache (a chunk of
 * the receiver's ring) or once by CMA. That depends on how far the two cores
 * are from each other and changes while the program runs, so each connection
 * keeps what both took lately, by size class, and tries the slower one again
 * now and then. The receiver's copy is taken to cost what the sender's did.
 *
 * Nothing is measured below ROSM_PACE_MIN bytes: a system call alone costs
 * more than both copies there. What trying costs is bounded by its rate: one
 * in ROSM_PACE_RETRY, so under 2 ms in the first 100,000 messages.
 */
#ifndef ROSM_MOVE_PACE_H
#define ROSM_MOVE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define ROSM_PACE_MIN	1024u
#define ROSM_PACE_CLASSES	3u	/* to 2 KiB, 4 KiB, 8 KiB */
#define ROSM_PACE_RETRY	256u

struct rosm_pace {
	uint32_t chunk;		/* ticks lately, of both copies; 0: never */
	uint32_t cma;
	uint32_t count;
};

static inline uint32_t rosm_pace_class(uint32_t len)
{
	return (len > 2048) + (len > 4096);
}

/* The next one goes through a chunk. */
static inline bool rosm_pace_pick(struct rosm_pace *p)
{
	bool chunk = !p->cma || (p->chunk && p->chunk <= p->cma);

	if (++p->count % ROSM_PACE_RETRY == 8)
		return !chunk;
	return chunk;
}

static inline void rosm_pace_note(uint32_t *lately, uint64_t ticks)
{
	uint32_t t = ticks > 1u << 24 ? 1u << 24 : (uint32_t)ticks | 1;

	/* a quarter of the news; what was interrupted is mostly forgotten */
	*lately = !*lately ? t : *lately - *lately / 4 + t / 4;
}

#endif
