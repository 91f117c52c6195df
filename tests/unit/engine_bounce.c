/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bounce mover's two ends against each other, and against an other side
 * that counts wrongly.
 */
#include <config.h>

#include "engine/move/bounce.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RING = 4096, TOTAL = 3 * RING + 100 };

static struct rosm_wire_xfer xfer;
static uint8_t ring[RING], from[TOTAL], to[TOTAL];
static struct iovec out[2] = { { from, 1000 }, { from + 1000, TOTAL - 1000 } };
static struct iovec in[1] = { { to, TOTAL } };

static struct rosm_bounce end(void)
{
	return (struct rosm_bounce){ .xfer = &xfer, .ring = ring,
				     .ring_bytes = RING, .total = TOTAL,
				     .want = TOTAL };
}

static void start(void)
{
	size_t i;

	memset(&xfer, 0, sizeof(xfer));
	memset(to, 0, sizeof(to));
	for (i = 0; i < TOTAL; i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
}

static void bytes_come_through(void **state)
{
	struct rosm_bounce source = end(), sink = end();
	int turns = 0;

	(void)state;
	start();
	while (!rosm_bounce_over(&sink)) {
		assert_true(rosm_bounce_produce(&source, out, 2) >= 0);
		/* no more than the ring holds */
		assert_true(source.moved - sink.moved <= RING);
		assert_true(rosm_bounce_consume(&sink, in, 1) > 0);
		assert_true(turns++ < 100);
	}
	assert_true(rosm_bounce_over(&source));
	assert_int_equal(rosm_bounce_produce(&source, out, 2), 0);
	assert_memory_equal(from, to, TOTAL);
}

static void a_source_that_counts_wrongly_is_refused(void **state)
{
	struct rosm_bounce sink = end();

	(void)state;
	start();
	xfer.produced = RING + 1;	/* more than the ring holds */
	assert_int_equal(rosm_bounce_consume(&sink, in, 1), -EPROTO);
	xfer.produced = 100;
	assert_int_equal(rosm_bounce_consume(&sink, in, 1), 100);
	xfer.produced = 99;		/* less than there was */
	assert_int_equal(rosm_bounce_consume(&sink, in, 1), -EPROTO);
	sink.moved = TOTAL - 10;
	xfer.produced = TOTAL + 1;	/* more than it has */
	assert_int_equal(rosm_bounce_consume(&sink, in, 1), -EPROTO);
}

static void a_sink_that_counts_wrongly_is_refused(void **state)
{
	struct rosm_bounce source = end();

	(void)state;
	start();
	xfer.consumed = 1;		/* nothing was there */
	assert_int_equal(rosm_bounce_produce(&source, out, 2), -EPROTO);
	xfer.consumed = 0;
	assert_int_equal(rosm_bounce_produce(&source, out, 2), RING);
	xfer.consumed = RING;
	assert_int_equal(rosm_bounce_produce(&source, out, 2), RING);
	xfer.consumed = RING - 1;	/* less than it had */
	assert_int_equal(rosm_bounce_produce(&source, out, 2), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_come_through),
		cmocka_unit_test(a_source_that_counts_wrongly_is_refused),
		cmocka_unit_test(a_sink_that_counts_wrongly_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
