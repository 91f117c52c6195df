/* SPDX-License-Identifier: BSD-2-Clause */
/* The choice between a chunk and CMA for Sends of middle size. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/move/pace.h"

/* n messages that cost so much each way; how many went through a chunk. */
static int run(struct rosm_pace *p, int n, uint64_t chunk, uint64_t cma)
{
	int i, chunks = 0;

	for (i = 0; i < n; i++) {
		if (rosm_pace_pick(p)) {
			chunks++;
			rosm_pace_note(&p->chunk, chunk);
		} else {
			rosm_pace_note(&p->cma, cma);
		}
	}
	return chunks;
}

static void the_faster_way_carries_nearly_all(void **state)
{
	struct rosm_pace near = { 0, 0, 0 }, far = { 0, 0, 0 };

	(void)state;
	assert_true(run(&near, 5000, 1000, 4000) > 4950);
	assert_true(run(&far, 5000, 9000, 4000) < 60);
}

static void a_change_is_noticed(void **state)
{
	struct rosm_pace p = { 0, 0, 0 };

	(void)state;
	assert_true(run(&p, 3000, 1000, 4000) > 2950);
	run(&p, 40, 9000, 4000);
	assert_true(run(&p, 3000, 9000, 4000) < 60);
	/* back: found by the rare tries */
	run(&p, 4000, 500, 4000);
	assert_true(run(&p, 3000, 500, 4000) > 2900);
}

static void classes_follow_the_size(void **state)
{
	(void)state;
	assert_int_equal(rosm_pace_class(1025), 0);
	assert_int_equal(rosm_pace_class(2048), 0);
	assert_int_equal(rosm_pace_class(4096), 1);
	assert_int_equal(rosm_pace_class(8192), ROSM_PACE_CLASSES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_faster_way_carries_nearly_all),
		cmocka_unit_test(a_change_is_noticed),
		cmocka_unit_test(classes_follow_the_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
