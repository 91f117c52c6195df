/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Integer helpers at the ends of their ranges.
 */
#include <config.h>

#include "util/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void align_up_moves_to_the_next_multiple_only_when_needed(void **s)
{
	(void)s;
	assert_int_equal(ru_align_up(0, 64), 0);
	assert_int_equal(ru_align_up(1, 64), 64);
	assert_int_equal(ru_align_up(64, 64), 64);
	assert_int_equal(ru_align_up(65, 64), 128);
	assert_int_equal(ru_align_down(127, 64), 64);
}

static void roundup_pow2_covers_both_ends(void **s)
{
	(void)s;
	assert_int_equal(ru_roundup_pow2(0), 1);
	assert_int_equal(ru_roundup_pow2(1), 1);
	assert_int_equal(ru_roundup_pow2(2), 2);
	assert_int_equal(ru_roundup_pow2(3), 4);
	assert_int_equal(ru_roundup_pow2(UINT64_C(1) << 63),
			 UINT64_C(1) << 63);
	assert_int_equal(ru_roundup_pow2((UINT64_C(1) << 63) + 1), 0);
}

static void min_and_max_do_not_narrow_to_32_bits(void **s)
{
	(void)s;
	assert_true(ru_min(UINT64_C(1) << 32, 1) == 1);
	assert_true(ru_max(UINT64_C(1) << 32, 1) == UINT64_C(1) << 32);
	assert_int_equal(ru_log2(1), 0);
	assert_int_equal(ru_log2(UINT64_MAX), 63);
	assert_false(ru_is_pow2(0));
	assert_true(ru_is_pow2(1));
	assert_false(ru_is_pow2(6));
}

static void container_of_finds_the_struct_around_a_member(void **s)
{
	struct outer {
		char pad[24];
		int member;
	} o;
	int array[7];

	(void)s;
	assert_ptr_equal(ru_container_of(&o.member, struct outer, member), &o);
	assert_int_equal(RU_ARRAY_SIZE(array), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			align_up_moves_to_the_next_multiple_only_when_needed),
		cmocka_unit_test(roundup_pow2_covers_both_ends),
		cmocka_unit_test(min_and_max_do_not_narrow_to_32_bits),
		cmocka_unit_test(container_of_finds_the_struct_around_a_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
