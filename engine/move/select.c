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
#define PROBE_NS	100000000ull

enum rosm_mover rosm_select_pick(struct rosm_select *s, struct rosm_peer *peer,
				 uint64_t len_bytes, bool can_cma)
{
	enum rosm_mover best, other;
	uint64_t now;

	if (peer->local)
		return ROSM_MOVER_SELF;
	if (!can_cma)
		return ROSM_MOVER_BOUNCE;
	if (len_bytes < MIN_BYTES)
		return ROSM_MOVER_CMA;
	s->count++;
	if (!s->cma_mbps || s->count < 4)
		return ROSM_MOVER_CMA;
	if (!s->bounce_mbps)
		return len_bytes <= PROBE_BYTES ? ROSM_MOVER_BOUNCE :
						  ROSM_MOVER_CMA;
	best = s->bounce_mbps > s->cma_mbps ? ROSM_MOVER_BOUNCE :
					      ROSM_MOVER_CMA;
	if (s->count % PROBE_EVERY || len_bytes > PROBE_BYTES)
		return best;
	now = ru_clock_ns();
	if (now < s->next_ns)
		return best;
	s->next_ns = now + (s->probe_us > PROBE_US ? 10 * PROBE_NS : PROBE_NS);
	other = best == ROSM_MOVER_CMA ? ROSM_MOVER_BOUNCE : ROSM_MOVER_CMA;
	return other;
}

/* The first measurement counts whole, later ones a quarter. */
static uint32_t smooth(uint32_t old, uint64_t new_mbps)
{
	if (new_mbps > UINT32_MAX / 4)
		new_mbps = UINT32_MAX / 4;
	if (!new_mbps)
		new_mbps = 1;
	if (!old)
		return (uint32_t)new_mbps;
	return (uint32_t)((3ull * old + new_mbps + 3) / 4);
}

void rosm_select_done(struct rosm_select *s, struct rosm_peer *peer,
		      enum rosm_mover mover, uint64_t len_bytes, uint64_t ns)
{
	uint64_t mbps = len_bytes * 1000 / (ns ? ns : 1);

	if (len_bytes < MIN_BYTES)
		return;
	if (mover == ROSM_MOVER_CMA) {
		if (s->cma_mbps && s->cma_mbps < s->bounce_mbps)
			s->probe_us += (uint32_t)(ns / 1000);
		s->cma_mbps = smooth(s->cma_mbps, mbps);
		atomic_store_explicit(&peer->cma_mbps, s->cma_mbps,
				      memory_order_relaxed);
	} else if (mover == ROSM_MOVER_BOUNCE) {
		if (!s->bounce_mbps || s->bounce_mbps < s->cma_mbps)
			s->probe_us += (uint32_t)(ns / 1000);
		s->bounce_mbps = smooth(s->bounce_mbps, mbps);
		atomic_store_explicit(&peer->bounce_mbps, s->bounce_mbps,
				      memory_order_relaxed);
	}
}
