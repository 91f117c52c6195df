/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters: names, aliases, defaults, and one warning for a bad value.
 */
#include <config.h>

#include "util/env.h"
#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int lines;
static char last_line[RU_LOG_LINE_BYTES];

static void keep_line(void *ctx, enum ru_log_level level, const char *subsys,
		      const char *line)
{
	(void)ctx;
	(void)subsys;
	assert_int_equal(level, RU_LOG_WARN);
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static const struct ru_log_sink sink = {
	.level = RU_LOG_WARN, .write = keep_line,
};

static int setup(void **state)
{
	char alias[64];
	size_t i;

	(void)state;
	for (i = 0; i < ru_params_count; i++) {
		snprintf(alias, sizeof(alias), "FI_%s", ru_params[i].name);
		unsetenv(ru_params[i].name);
		unsetenv(alias);
	}
	lines = 0;
	ru_log_set_sink(&sink);
	return 0;
}

static int teardown(void **state)
{
	setup(state);
	ru_log_set_sink(NULL);
	return 0;
}

static void each_entry_of_the_table_is_complete(void **state)
{
	size_t i, k;

	(void)state;
	for (i = 0; i < ru_params_count; i++) {
		const struct ru_param *p = &ru_params[i];
		int64_t v;

		assert_memory_equal(p->name, "ROSM_", 5);
		assert_true(strlen(p->name) < 60);
		assert_true(strlen(p->help) > 10);
		assert_int_equal(p->help[strlen(p->help) - 1], '.');
		assert_int_equal(ru_param_parse(p, p->def, &v), 0);
		assert_true(p->type != RU_PARAM_ENUM || p->choices[0]);
		assert_string_not_equal(ru_param_type_name(p->type), "?");
		for (k = 0; k < i; k++)
			assert_string_not_equal(p->name, ru_params[k].name);
	}
}

static void unset_parameters_have_their_defaults(void **state)
{
	(void)state;
	assert_string_equal(ru_param_str("ROSM_DIR"), "/dev/shm");
	assert_string_equal(ru_param_str("ROSM_DEVICE_NAME"), "rosm0");
	assert_int_equal(ru_param_size("ROSM_SEGMENT_SIZE"), 1u << 30);
	assert_int_equal(ru_param_size("ROSM_EAGER_LIMIT"), 8192);
	assert_true(ru_param_bool("ROSM_MOVE_CMA"));
	assert_false(ru_param_bool("ROSM_FI_LAYERING"));
	assert_int_equal(ru_param_enum("ROSM_LOG_LEVEL"), RU_LOG_WARN);
	assert_false(ru_param_is_set("ROSM_DIR"));
	assert_int_equal(lines, 0);
}

static void the_alias_counts_and_the_own_name_wins(void **state)
{
	(void)state;
	setenv("FI_ROSM_EAGER_LIMIT", "4K", 1);
	assert_int_equal(ru_param_size("ROSM_EAGER_LIMIT"), 4096);
	assert_true(ru_param_is_set("ROSM_EAGER_LIMIT"));
	setenv("ROSM_EAGER_LIMIT", "100", 1);
	assert_int_equal(ru_param_size("ROSM_EAGER_LIMIT"), 100);
}

static void sizes_take_suffixes(void **state)
{
	(void)state;
	setenv("ROSM_SEGMENT_SIZE", "2g", 1);
	assert_true(ru_param_size("ROSM_SEGMENT_SIZE") == 2ull << 30);
	setenv("ROSM_SEGMENT_SIZE", "64M", 1);
	assert_int_equal(ru_param_size("ROSM_SEGMENT_SIZE"), 64 << 20);
	setenv("ROSM_EAGER_LIMIT", "0", 1);
	assert_int_equal(ru_param_size("ROSM_EAGER_LIMIT"), 0);
	assert_int_equal(lines, 0);
}

static void malformed_text_does_not_parse(void **state)
{
	static const char *const bad[] = {
		"", "x", "-", "8KB", "K", "8 K", "1.5M", "0x10", "12,",
	};
	const struct ru_param *p = ru_param_find("ROSM_EAGER_LIMIT");
	int64_t v = 77;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_not_equal(ru_param_parse(p, bad[i], &v), 0);
	assert_int_not_equal(ru_param_parse(p, "-1", &v), 0);
	assert_int_not_equal(ru_param_parse(p, "99999999999999999999", &v), 0);
	assert_int_not_equal(ru_param_parse(p, "9223372036854775807G", &v), 0);
	p = ru_param_find("ROSM_MOVE_CMA");
	assert_int_not_equal(ru_param_parse(p, "2", &v), 0);
	assert_int_not_equal(ru_param_parse(p, "", &v), 0);
	assert_int_equal(v, 77);
	assert_null(ru_param_find("ROSM_NO_SUCH_THING"));
}

static void booleans_and_enums_take_words(void **state)
{
	(void)state;
	setenv("ROSM_MOVE_CMA", "Off", 1);
	assert_false(ru_param_bool("ROSM_MOVE_CMA"));
	setenv("ROSM_FI_LAYERING", "yes", 1);
	assert_true(ru_param_bool("ROSM_FI_LAYERING"));
	setenv("ROSM_LOG_LEVEL", "DEBUG", 1);
	assert_int_equal(ru_param_enum("ROSM_LOG_LEVEL"), RU_LOG_DEBUG);
}

/* The only test that sets a bad value: warnings come once a process. */
static void a_bad_value_warns_once_and_gives_the_default(void **state)
{
	(void)state;
	setenv("FI_ROSM_EAGER_LIMIT", "lots", 1);
	assert_int_equal(ru_param_size("ROSM_EAGER_LIMIT"), 8192);
	assert_int_equal(lines, 1);
	assert_non_null(strstr(last_line, "FI_ROSM_EAGER_LIMIT"));
	assert_non_null(strstr(last_line, "\"lots\""));
	assert_non_null(strstr(last_line, "\"8K\""));
	assert_int_equal(ru_param_size("ROSM_EAGER_LIMIT"), 8192);
	assert_int_equal(lines, 1);
	setenv("ROSM_SEGMENT_SIZE", "1", 1);
	assert_int_equal(ru_param_size("ROSM_SEGMENT_SIZE"), 1u << 30);
	assert_int_equal(lines, 2);
	assert_non_null(strstr(last_line, "out of range"));
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(each_entry_of_the_table_is_complete),
		T(unset_parameters_have_their_defaults),
		T(the_alias_counts_and_the_own_name_wins),
		T(sizes_take_suffixes),
		T(malformed_text_does_not_parse),
		T(booleans_and_enums_take_words),
		T(a_bad_value_warns_once_and_gives_the_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
