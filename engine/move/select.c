/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See select.h. Cross-memory attach is the default until both rates are known.
 * Bounce is first tried at the fourth large transfer, so that pairs that
 * exchange one large message never pay for it; then the slower mover is tried
 * at every 64th transfer, at most each 100 ms, and with transfers of at most
 * PROBE_BYTES only: a try costs some hundred microseconds at worst. A pair
 * whose tries have cost more than PROBE_US slows them down by ten.
 */
#include <config.h>

#include "engine/move/select.h"

#include "util/clock.h"

/* Below this the two hand-overs of a bounce cost more than they save. */
#define MIN_BYTES	(32u * 1024)
#define PROBE_BYTES	(1u << 20)
#define PROBE_US	2000u
#define PROBE_EVERY	64u
#define FIRST_TRY	4u
#define TRIES		4u
#define TRY_MAX		64u
#define FIRST_TRIES	512u
#define PROBE_NS	100000000ull

static enum rosm_mover best_of(const struct rosm_select *s)
{
	return s->bounce_mbps > s->cma_mbps ? ROSM_MOVER_BOUNCE :
					      ROSM_MOVER_CMA;
}

/*
 * Bounces that overlap with copies by system calls wait for these, so all go
 * by bounce until some are over; the first ones touch the ring's pages.
 */
static void try_begin(struct rosm_select *s)
{
	s->tries = TRIES;
	s->try_end = s->count + TRY_MAX;
}

enum rosm_mover rosm_select_pick(struct rosm_select *s, struct rosm_peer *peer,
				 uint64_t len_bytes, bool can_cma)
{
	uint64_t now;

	if (peer->local)
		return ROSM_MOVER_SELF;
	if (!can_cma)
		return ROSM_MOVER_BOUNCE;
	if (len_bytes < MIN_BYTES)
		return ROSM_MOVER_CMA;
	s->count++;
	if (!s->cma_mbps || s->count < FIRST_TRY)
		return ROSM_MOVER_CMA;
	if (len_bytes > PROBE_BYTES)
		return best_of(s);
	if (s->count == FIRST_TRY)
		try_begin(s);
	if (s->tries && s->count < s->try_end)
		return ROSM_MOVER_BOUNCE;
	if (s->count % PROBE_EVERY)
		return best_of(s);
	if (!s->bounce_mbps && s->count < FIRST_TRIES) {
		try_begin(s);
		return ROSM_MOVER_BOUNCE;
	}
	now = ru_clock_ns();
	if (now < s->next_ns)
		return best_of(s);
	s->next_ns = now + (s->probe_us > PROBE_US ? 10 * PROBE_NS : PROBE_NS);
	if (best_of(s) == ROSM_MOVER_BOUNCE)
		return ROSM_MOVER_CMA;
	try_begin(s);
	return ROSM_MOVER_BOUNCE;
}

/* Up at once, down by quarters: an interrupted transfer says little. */
static uint32_t smooth(uint32_t old, uint64_t new_mbps)
{
	if (new_mbps > UINT32_MAX / 4)
		new_mbps = UINT32_MAX / 4;
	if (!new_mbps)
		new_mbps = 1;
	if (new_mbps >= old)
		return (uint32_t)new_mbps;
	return (uint32_t)((3ull * old + new_mbps + 3) / 4);
}

/*
 * Bounces run side by side and share both processors, so each alone looks
 * slow: what counts is all that was moved since the first of them began. One
 * that ends unseen (its peer died) only makes this look slower.
 */
static uint64_t bounce_rate(struct rosm_select *s, uint64_t end_ns)
{
	if (s->under_way)
		s->under_way--;
	return s->busy_bytes * 1000 /
	       (end_ns > s->busy_ns ? end_ns - s->busy_ns : 1);
}

void rosm_select_done(struct rosm_select *s, struct rosm_peer *peer,
		      enum rosm_mover mover, uint64_t len_bytes,
		      uint64_t start_ns, uint64_t end_ns)
{
	uint64_t ns = end_ns > start_ns ? end_ns - start_ns : 1;

	if (len_bytes < MIN_BYTES)
		return;
	if (mover == ROSM_MOVER_CMA) {
		if (s->cma_mbps && s->cma_mbps < s->bounce_mbps)
			s->probe_us += (uint32_t)(ns / 1000);
		s->cma_mbps = smooth(s->cma_mbps, len_bytes * 1000 / ns);
		atomic_store_explicit(&peer->cma_mbps, s->cma_mbps,
				      memory_order_relaxed);
	} else if (mover == ROSM_MOVER_BOUNCE) {
		if (!s->bounce_mbps || s->bounce_mbps < s->cma_mbps)
			s->probe_us += (uint32_t)(ns / 1000);
		s->bounce_mbps = smooth(s->bounce_mbps, bounce_rate(s, end_ns));
		if (s->tries)
			s->tries--;
		atomic_store_explicit(&peer->bounce_mbps, s->bounce_mbps,
				      memory_order_relaxed);
	}
}
