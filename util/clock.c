/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate of the tick counter: asked of the processor where it tells, else
 * measured once against CLOCK_MONOTONIC. Threads that measure at once each
 * store a good value.
 */
#include <config.h>

#include "util/clock.h"

#include <stdatomic.h>

#include "util/compiler.h"

#define MEASURE_NS	100000

/* The bits of a double, 0 while unknown. */
static _Atomic uint64_t rate_bits;

#if defined(__aarch64__)
static double find_rate(void)
{
	uint64_t hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	return (double)hz / 1e6;
}
#else
/*
 * A preemption between the two clocks spoils a sample: each end is taken
 * several times and the reading with the shortest gap counts.
 */
static void read_both(uint64_t *ns_out, uint64_t *ticks_out)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		uint64_t before = ru_ticks();
		uint64_t ns = ru_clock_ns();
		uint64_t after = ru_ticks();

		if (after - before < best) {
			best = after - before;
			*ns_out = ns;
			*ticks_out = before + best / 2;
		}
	}
}

static double find_rate(void)
{
	uint64_t ns0 = 0, ns1 = 0, t0 = 0, t1 = 0;

	read_both(&ns0, &t0);
	do
		ru_pause();
	while (ru_clock_ns() - ns0 < MEASURE_NS);
	read_both(&ns1, &t1);
	return (double)(t1 - t0) * 1000.0 / (double)(ns1 - ns0);
}
#endif

double ru_ticks_per_us(void)
{
	uint64_t bits = atomic_load_explicit(&rate_bits, memory_order_relaxed);
	double rate;

	if (ru_likely(bits)) {
		__builtin_memcpy(&rate, &bits, sizeof(rate));
		return rate;
	}
	rate = find_rate();
	if (!(rate > 0.001))
		rate = 0.001;	/* a stopped counter must divide nobody */
	__builtin_memcpy(&bits, &rate, sizeof(bits));
	atomic_store_explicit(&rate_bits, bits, memory_order_relaxed);
	return rate;
}
