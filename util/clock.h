/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two clocks: nanoseconds of CLOCK_MONOTONIC (about 25 ns a call, comparable
 * between the processes of one machine) and raw ticks of the processor's
 * counter (a few ns, for short differences within one process).
 */
#ifndef RU_CLOCK_H
#define RU_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ru_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)ts.tv_nsec;
}

/* Not ordered against the instructions around it. */
static inline uint64_t ru_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return ru_clock_ns();
#endif
}

/*
 * Ticks in a microsecond, never 0. The first call measures for 100 us where
 * the processor does not tell. Any thread.
 */
double ru_ticks_per_us(void);

static inline uint64_t ru_ticks_to_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks * 1000.0 / ru_ticks_per_us());
}

static inline uint64_t ru_ns_to_ticks(uint64_t ns)
{
	return (uint64_t)((double)ns * ru_ticks_per_us() / 1000.0);
}

#endif
