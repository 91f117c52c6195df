/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Object pools: distinct, aligned objects within the limit.
 */
#include <config.h>

#include "util/pool.h"

#include <errno.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void objects_are_distinct_aligned_and_writable(void **state)
{
	unsigned char *obj[100];
	struct ru_pool p;
	int i, k;

	(void)state;
	assert_int_equal(ru_pool_init(&p, 72, 64, 7, 0), 0);
	for (i = 0; i < 100; i++) {
		obj[i] = ru_pool_get(&p);
		assert_non_null(obj[i]);
		assert_int_equal((uintptr_t)obj[i] % 64, 0);
		memset(obj[i], i, 72);
	}
	for (i = 0; i < 100; i++)
		for (k = 0; k < 72; k++)
			assert_int_equal(obj[i][k], i);
	assert_int_equal(p.used, 100);
	for (i = 0; i < 100; i++)
		ru_pool_put(&p, obj[i]);
	assert_int_equal(p.used, 0);
	ru_pool_fini(&p);
}

static void a_returned_object_is_handed_out_again(void **state)
{
	struct ru_pool p;
	void *a;

	(void)state;
	assert_int_equal(ru_pool_init(&p, 1, 0, 4, 0), 0);
	a = ru_pool_get(&p);
	ru_pool_put(&p, a);
	assert_ptr_equal(ru_pool_get(&p), a);
	ru_pool_fini(&p);
}

static void the_limit_holds_and_ends_when_objects_return(void **state)
{
	struct ru_pool p;
	void *obj[10];
	int i;

	(void)state;
	assert_int_equal(ru_pool_init(&p, 16, 0, 4, 10), 0);
	for (i = 0; i < 10; i++)
		assert_non_null(obj[i] = ru_pool_get(&p));
	assert_null(ru_pool_get(&p));
	ru_pool_put(&p, obj[3]);
	assert_ptr_equal(ru_pool_get(&p), obj[3]);
	ru_pool_fini(&p);
}

static void reserved_objects_come_without_growing(void **state)
{
	struct ru_pool p;
	size_t capacity;
	int i;

	(void)state;
	assert_int_equal(ru_pool_init(&p, 16, 0, 4, 100), 0);
	assert_int_equal(ru_pool_reserve(&p, 33), 0);
	capacity = p.capacity;
	assert_true(capacity >= 33);
	for (i = 0; i < 33; i++)
		assert_non_null(ru_pool_get(&p));
	assert_int_equal(p.capacity, capacity);
	assert_int_equal(ru_pool_reserve(&p, 68), -ENOSPC);
	assert_int_equal(ru_pool_reserve(&p, 67), 0);
	ru_pool_fini(&p);
}

static void bad_shapes_are_refused(void **state)
{
	struct ru_pool p;

	(void)state;
	assert_int_equal(ru_pool_init(&p, 0, 0, 1, 0), -EINVAL);
	assert_int_equal(ru_pool_init(&p, 8, 3, 1, 0), -EINVAL);
	assert_int_equal(ru_pool_init(&p, 8, 0, 0, 0), -EINVAL);
	assert_int_equal(ru_pool_init(&p, SIZE_MAX, 0, 1, 0), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_distinct_aligned_and_writable),
		cmocka_unit_test(a_returned_object_is_handed_out_again),
		cmocka_unit_test(the_limit_holds_and_ends_when_objects_return),
		cmocka_unit_test(reserved_objects_come_without_growing),
		cmocka_unit_test(bad_shapes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
