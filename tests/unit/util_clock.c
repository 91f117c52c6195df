/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two clocks go forward and agree with each other.
 */
#include <config.h>

#include "util/clock.h"

#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void wait_ns(uint64_t ns)
{
	struct timespec ts = { .tv_nsec = (long)ns };

	nanosleep(&ts, NULL);
}

static void the_clock_counts_at_least_the_time_slept(void **state)
{
	uint64_t before = ru_clock_ns();

	(void)state;
	wait_ns(2000000);
	assert_true(ru_clock_ns() - before >= 2000000);
}

/* Both ends of the ticks are inside, or outside, those of the clock. */
static void ticks_convert_to_the_time_of_the_clock(void **state)
{
	uint64_t outer, inner, ns, t;

	(void)state;
	ru_ticks_per_us();
	outer = ru_clock_ns();
	t = ru_ticks();
	inner = ru_clock_ns();
	wait_ns(20000000);
	inner = ru_clock_ns() - inner;
	ns = ru_ticks_to_ns(ru_ticks() - t);
	outer = ru_clock_ns() - outer;
	assert_true(ns >= inner - inner / 20);
	assert_true(ns <= outer + outer / 20);
}

static void the_rate_is_measured_once(void **state)
{
	double rate = ru_ticks_per_us();

	(void)state;
	assert_true(rate > 0);
	assert_true(ru_ticks_per_us() == rate);
	assert_in_range(ru_ticks_to_ns(ru_ns_to_ticks(1000000)), 999000,
			1001000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_counts_at_least_the_time_slept),
		cmocka_unit_test(ticks_convert_to_the_time_of_the_clock),
		cmocka_unit_test(the_rate_is_measured_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
