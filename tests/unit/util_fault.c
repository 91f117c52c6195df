/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults on demand: in a build with them they hit the named point at the named
 * passage; in one without them the points are nothing.
 */
#include <config.h>

#include "util/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifdef ROSM_FAULT

static void arm(const char *text)
{
	if (text)
		setenv("ROSM_FAULT", text, 1);
	else
		unsetenv("ROSM_FAULT");
	ru_fault_reload();
}

static int teardown(void **state)
{
	(void)state;
	arm(NULL);
	return 0;
}

static int fails(void)
{
	return RU_FAIL_POINT("test.alloc");
}

static int fails_elsewhere(void)
{
	return RU_FAIL_POINT("test.alloc");
}

static void the_nth_passage_fails_and_no_other(void **state)
{
	(void)state;
	arm("fail:test.alloc:3");
	assert_false(fails());
	assert_false(fails_elsewhere());
	assert_true(fails());
	assert_false(fails());
	arm("fail:test.alloc");
	assert_true(fails());
	assert_false(fails());
}

static void a_plus_means_all_later_ones_too(void **state)
{
	(void)state;
	arm("fail:test.alloc:2+");
	assert_false(fails());
	assert_true(fails());
	assert_true(fails());
}

static void other_names_and_kinds_do_not_fail(void **state)
{
	(void)state;
	arm("fail:test.allo:1+,fail:test.alloc2:1+,kill:test.alloc:1+");
	assert_false(fails());
	arm(NULL);
	assert_false(fails());
}

static void malformed_entries_are_not_armed(void **state)
{
	static const char *const bad[] = {
		"test.alloc", "fail:", "fail:test.alloc:", "fail::1",
		"fail:test.alloc:0", "fail:test.alloc:x",
		"fail:test.alloc:1x", "die:test.alloc", ",", ",,",
	};
	size_t i;

	(void)state;
	for (i = 0; i < RU_ARRAY_SIZE(bad); i++) {
		arm(bad[i]);
		assert_false(fails());
	}
	arm("junk,fail:test.alloc");
	assert_true(fails());
}

static void a_kill_point_ends_the_process_where_it_stands(void **state)
{
	int fds[2], status;
	char text[8] = "";
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		int i;

		setenv("ROSM_FAULT", "kill:test.publish:2", 1);
		ru_fault_reload();
		for (i = 0; i < 3; i++) {
			if (write(fds[1], "x", 1) != 1)
				_exit(1);
			RU_KILL_POINT("test.publish");
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	assert_int_equal(read(fds[0], text, sizeof(text)), 2);
	close(fds[0]);
	close(fds[1]);
}

static int count_name(void *ctx, const struct ru_fault_point *point)
{
	int *found = ctx;

	if (!strcmp(point->name, "test.alloc")) {
		assert_int_equal(point->kind, RU_FAULT_FAIL);
		assert_non_null(strstr(point->file, "util_fault.c"));
		found[0]++;
	}
	if (!strcmp(point->name, "test.publish")) {
		assert_int_equal(point->kind, RU_FAULT_KILL);
		found[1]++;
	}
	return 0;
}

static void each_name_is_listed_once(void **state)
{
	int found[2] = { 0 };

	(void)state;
	assert_true(ru_fault_enabled());
	assert_int_equal(ru_fault_each(count_name, found), 0);
	assert_int_equal(found[0], 1);
	assert_int_equal(found[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_nth_passage_fails_and_no_other,
					  teardown),
		cmocka_unit_test_teardown(a_plus_means_all_later_ones_too,
					  teardown),
		cmocka_unit_test_teardown(other_names_and_kinds_do_not_fail,
					  teardown),
		cmocka_unit_test_teardown(malformed_entries_are_not_armed,
					  teardown),
		cmocka_unit_test(
			a_kill_point_ends_the_process_where_it_stands),
		cmocka_unit_test(each_name_is_listed_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static int count(void *ctx, const struct ru_fault_point *point)
{
	(void)point;
	++*(int *)ctx;
	return 0;
}

static void the_environment_arms_nothing(void **state)
{
	int points = 0;

	(void)state;
	setenv("ROSM_FAULT", "kill:test.publish,fail:test.alloc", 1);
	ru_fault_reload();
	RU_KILL_POINT("test.publish");
	assert_false(RU_FAIL_POINT("test.alloc"));
	assert_false(ru_fault_enabled());
	assert_int_equal(ru_fault_each(count, &points), 0);
	assert_int_equal(points, 0);
	unsetenv("ROSM_FAULT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_environment_arms_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
