/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines: levels, sinks, standard error, errno.
 */
#include <config.h>

#include "util/env.h"
#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
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

static int lines;
static char last[2 * RU_LOG_LINE_BYTES];

static void keep_line(void *ctx, enum ru_log_level level, const char *subsys,
		      const char *line)
{
	assert_ptr_equal(ctx, &lines);
	lines++;
	snprintf(last, sizeof(last), "%s|%s|%s", ru_log_level_name(level),
		 subsys, line);
	errno = ENOTTY;
}

static struct ru_log_sink sink = { .write = keep_line, .ctx = &lines };

static int setup(void **state)
{
	(void)state;
	unsetenv("ROSM_LOG_LEVEL");
	ru_log_reload();
	sink.level = -1;
	lines = 0;
	ru_log_set_sink(&sink);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ru_log_set_sink(NULL);
	return 0;
}

static int count_me;

static int costly(void)
{
	return ++count_me;
}

static void a_level_that_is_off_evaluates_nothing(void **state)
{
	(void)state;
	count_me = 0;
	RU_INFO("test", "%d", costly());
	RU_DBG("test", "%d", costly());
	assert_int_equal(count_me, 0);
	assert_int_equal(lines, 0);
	RU_WARN("test", "number %d", costly());
	assert_int_equal(lines, 1);
	assert_string_equal(last, "warn|test|number 1");
}

static void the_environment_sets_the_level(void **state)
{
	(void)state;
	setenv("ROSM_LOG_LEVEL", "error", 1);
	ru_log_reload();
	RU_WARN("test", "no");
	assert_int_equal(lines, 0);
	setenv("ROSM_LOG_LEVEL", "debug", 1);
	ru_log_reload();
	RU_DBG("test", "yes");
	assert_string_equal(last, "debug|test|yes");
}

static void a_sink_can_ask_for_its_own_level(void **state)
{
	(void)state;
	sink.level = RU_LOG_DEBUG;
	ru_log_set_sink(&sink);
	RU_DBG("test", "on");
	assert_int_equal(lines, 1);
	ru_log_set_sink(NULL);
	assert_false(ru_log_on(RU_LOG_DEBUG));
}

static void errno_survives_a_line(void **state)
{
	(void)state;
	errno = EXDEV;
	RU_WARN("test", "x");
	assert_int_equal(lines, 1);
	assert_int_equal(errno, EXDEV);
}

static void once_means_once(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		RU_WARN_ONCE("test", "turn %d", i);
	assert_int_equal(lines, 1);
	assert_string_equal(last, "warn|test|turn 0");
}

static void a_long_line_is_cut(void **state)
{
	char text[3 * RU_LOG_LINE_BYTES];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	RU_WARN("test", "%s", text);
	assert_int_equal(strlen(strrchr(last, '|') + 1),
			 RU_LOG_LINE_BYTES - 1);
}

static void without_a_sink_standard_error_gets_one_line(void **state)
{
	char text[256], want[256];
	int fds[2], saved;
	ssize_t n;

	(void)state;
	ru_log_set_sink(NULL);
	assert_int_equal(pipe(fds), 0);
	saved = dup(2);
	dup2(fds[1], 2);
	RU_ERR("cq", "ring %d is full", 7);
	dup2(saved, 2);
	close(saved);
	close(fds[1]);
	n = read(fds[0], text, sizeof(text) - 1);
	close(fds[0]);
	assert_true(n > 0);
	text[n] = '\0';
	snprintf(want, sizeof(want), "rosm[%d] error: cq: ring 7 is full\n",
		 (int)getpid());
	assert_string_equal(text, want);
}

static void a_bad_level_in_the_environment_does_not_recurse(void **state)
{
	(void)state;
	setenv("ROSM_LOG_LEVEL", "loud", 1);
	ru_log_reload();
	assert_int_equal(lines, 1);
	assert_non_null(strstr(last, "\"loud\""));
	assert_true(ru_log_on(RU_LOG_WARN));
	assert_false(ru_log_on(RU_LOG_INFO));
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_level_that_is_off_evaluates_nothing),
		T(the_environment_sets_the_level),
		T(a_sink_can_ask_for_its_own_level),
		T(errno_survives_a_line),
		T(once_means_once),
		T(a_long_line_is_cut),
		T(without_a_sink_standard_error_gets_one_line),
		T(a_bad_level_in_the_environment_does_not_recurse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
