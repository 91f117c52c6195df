/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids: stale ones are not found, and the table keeps its bounds.
 */
#include <config.h>

#include "util/idtable.h"

#include <errno.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int objs[3000];

static void an_id_finds_its_pointer_until_freed(void **state)
{
	struct ru_idtable t;
	uint32_t id;

	(void)state;
	assert_int_equal(ru_idtable_init(&t, 10, 14), 0);
	assert_int_equal(ru_idtable_alloc(&t, &objs[0], &id), 0);
	assert_int_not_equal(id, 0);
	assert_ptr_equal(ru_idtable_get(&t, id), &objs[0]);
	assert_ptr_equal(ru_idtable_free(&t, id), &objs[0]);
	assert_null(ru_idtable_get(&t, id));
	assert_null(ru_idtable_free(&t, id));
	ru_idtable_fini(&t);
}

static void a_reused_index_gets_another_id(void **state)
{
	struct ru_idtable t;
	uint32_t ids[4], first;

	(void)state;
	assert_int_equal(ru_idtable_init(&t, 1, 8), 0);
	assert_int_equal(ru_idtable_alloc(&t, &objs[0], &first), 0);
	assert_int_equal(ru_idtable_alloc(&t, &objs[1], &ids[0]), 0);
	ru_idtable_free(&t, first);
	assert_int_equal(ru_idtable_alloc(&t, &objs[2], &ids[1]), 0);
	assert_int_not_equal(ids[1], first);
	assert_int_equal(ids[1] & 1, first & 1);
	assert_null(ru_idtable_get(&t, first));
	assert_ptr_equal(ru_idtable_get(&t, ids[1]), &objs[2]);
	ru_idtable_fini(&t);
}

static void ids_stay_nonzero_and_in_width_when_tags_wrap(void **state)
{
	struct ru_idtable t;
	uint32_t id;
	int i;

	(void)state;
	assert_int_equal(ru_idtable_init(&t, 2, 3), 0);
	for (i = 0; i < 100; i++) {
		assert_int_equal(ru_idtable_alloc(&t, &objs[i], &id), 0);
		assert_int_not_equal(id, 0);
		assert_true(id < 32);
		assert_ptr_equal(ru_idtable_get(&t, id), &objs[i]);
		assert_ptr_equal(ru_idtable_free(&t, id), &objs[i]);
	}
	ru_idtable_fini(&t);
}

static void the_table_grows_to_its_bound_and_says_so(void **state)
{
	uint32_t *ids = malloc(2048 * sizeof(*ids));
	struct ru_idtable t;
	uint32_t id, i;

	(void)state;
	assert_non_null(ids);
	assert_int_equal(ru_idtable_init(&t, 11, 21), 0);
	for (i = 0; i < 2048; i++)
		assert_int_equal(ru_idtable_alloc(&t, &objs[i], &ids[i]), 0);
	assert_int_equal(ru_idtable_alloc(&t, &objs[i], &id), -ENOSPC);
	for (i = 0; i < 2048; i++)
		assert_ptr_equal(ru_idtable_get(&t, ids[i]), &objs[i]);
	ru_idtable_free(&t, ids[77]);
	assert_int_equal(ru_idtable_alloc(&t, &objs[7], &id), 0);
	assert_ptr_equal(ru_idtable_get(&t, id), &objs[7]);
	ru_idtable_fini(&t);
	free(ids);
}

static void any_bit_pattern_is_looked_up_without_harm(void **state)
{
	struct ru_idtable t;
	uint32_t id, live;

	(void)state;
	assert_int_equal(ru_idtable_init(&t, 24, 8), 0);
	assert_null(ru_idtable_get(&t, 0));
	assert_null(ru_idtable_get(&t, UINT32_MAX));
	assert_int_equal(ru_idtable_alloc(&t, &objs[0], &live), 0);
	for (id = 1; id; id <<= 1) {
		assert_null(ru_idtable_get(&t, live ^ id));
		assert_null(ru_idtable_free(&t, live ^ id));
	}
	assert_ptr_equal(ru_idtable_get(&t, live), &objs[0]);
	ru_idtable_fini(&t);
}

static void iteration_meets_each_live_entry_once(void **state)
{
	uint32_t ids[600], id, i, n = 0;
	struct ru_idtable t;
	int *p;

	(void)state;
	assert_int_equal(ru_idtable_init(&t, 12, 4), 0);
	for (i = 0; i < 600; i++)
		assert_int_equal(ru_idtable_alloc(&t, &objs[i], &ids[i]), 0);
	for (i = 0; i < 600; i += 2)
		ru_idtable_free(&t, ids[i]);
	for (i = 0; (p = ru_idtable_next(&t, &i, &id)); n++) {
		assert_int_equal((p - objs) % 2, 1);
		assert_int_equal(id, ids[p - objs]);
		ru_idtable_free(&t, id);
	}
	assert_int_equal(n, 300);
	assert_int_equal(t.used, 0);
	ru_idtable_fini(&t);
}

static void bad_widths_and_null_are_refused(void **state)
{
	struct ru_idtable t;
	uint32_t id;

	(void)state;
	assert_int_equal(ru_idtable_init(&t, 0, 8), -EINVAL);
	assert_int_equal(ru_idtable_init(&t, 25, 1), -EINVAL);
	assert_int_equal(ru_idtable_init(&t, 20, 13), -EINVAL);
	assert_int_equal(ru_idtable_init(&t, 20, 12), 0);
	assert_int_equal(ru_idtable_alloc(&t, NULL, &id), -EINVAL);
	ru_idtable_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_finds_its_pointer_until_freed),
		cmocka_unit_test(a_reused_index_gets_another_id),
		cmocka_unit_test(ids_stay_nonzero_and_in_width_when_tags_wrap),
		cmocka_unit_test(the_table_grows_to_its_bound_and_says_so),
		cmocka_unit_test(any_bit_pattern_is_looked_up_without_harm),
		cmocka_unit_test(iteration_meets_each_live_entry_once),
		cmocka_unit_test(bad_widths_and_null_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
