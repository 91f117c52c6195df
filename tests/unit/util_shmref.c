/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets from shared memory: in range and aligned, or nothing.
 */
#include <config.h>

#include "util/shmref.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static _Alignas(64) char mem[256];

static void offsets_in_range_become_pointers(void **state)
{
	(void)state;
	assert_ptr_equal(ru_shm_ptr(mem, 256, 8, 248), mem + 8);
	assert_ptr_equal(ru_shm_bytes(mem, 256, 255, 1), mem + 255);
	assert_ptr_equal(ru_shm_bytes(mem, 256, 256, 0), mem + 256);
	assert_ptr_equal(ru_shm_ptr_aligned(mem, 256, 64, 64, 64), mem + 64);
}

static void ranges_past_the_end_are_nothing(void **state)
{
	(void)state;
	assert_null(ru_shm_ptr(mem, 256, 8, 249));
	assert_null(ru_shm_ptr(mem, 256, 256, 8));
	assert_null(ru_shm_ptr(mem, 256, 264, 0));
	assert_null(ru_shm_bytes(mem, 256, 1, UINT64_MAX));
	assert_null(ru_shm_bytes(mem, 256, UINT64_MAX, 1));
	assert_null(ru_shm_bytes(mem, 256, UINT64_MAX, UINT64_MAX));
	assert_null(ru_shm_ptr(mem, 256, UINT64_MAX - 7, 16));
}

static void misaligned_offsets_are_nothing(void **state)
{
	(void)state;
	assert_null(ru_shm_ptr(mem, 256, 12, 8));
	assert_null(ru_shm_ptr_aligned(mem, 256, 32, 8, 64));
	assert_non_null(ru_shm_bytes(mem, 256, 13, 8));
}

static void zero_is_no_reference(void **state)
{
	(void)state;
	assert_null(ru_shm_ptr(mem, 256, 0, 8));
	assert_null(ru_shm_bytes(mem, 256, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_in_range_become_pointers),
		cmocka_unit_test(ranges_past_the_end_are_nothing),
		cmocka_unit_test(misaligned_offsets_are_nothing),
		cmocka_unit_test(zero_is_no_reference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
