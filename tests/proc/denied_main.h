/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which table of denied.c this build of a program runs through: DENIED_TABLE
 * is plain, user, pid or refused. An argument picks one case by its number.
 */
#ifndef TESTS_PROC_DENIED_MAIN_H
#define TESTS_PROC_DENIED_MAIN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/proc/denied.h"

#ifndef DENIED_TABLE
#define DENIED_TABLE plain
#endif

#define DENIED_STR_(x)	#x
#define DENIED_STR(x)	DENIED_STR_(x)
#define DENIED_CAT_(a, b) a##b
#define DENIED_CAT(a, b) DENIED_CAT_(a, b)

static int denied_only = -1;

/* Non-zero: the program is skipped, and why was said. */
static inline int denied_main(int argc, char **argv)
{
	const char *table = DENIED_STR(DENIED_TABLE), *why = NULL;

	if (!strcmp(table, "user"))
		why = denied_no_user();
	else if (!strcmp(table, "pid"))
		why = denied_no_pid();
	else if (!strcmp(table, "refused"))
		why = denied_no_any();
	if (why)
		printf("%s\n", why);
	if (argc > 1)
		denied_only = atoi(argv[1]);
	return why != NULL;
}

static inline unsigned int denied_slower(void)
{
	const char *env = getenv("ROSM_TEST_SLOWER");
	long factor = env ? strtol(env, NULL, 10) : 1;

	return factor > 0 ? (unsigned int)factor : 1;
}

static inline void denied_each(denied_fn fn)
{
	const struct denied_case *c = DENIED_CAT(denied_, DENIED_TABLE);
	unsigned int i, n = DENIED_CAT(DENIED_CAT(denied_, DENIED_TABLE),
				       _count);

	for (i = 0; i < n; i++) {
		if (denied_only >= 0 && (unsigned int)denied_only != i)
			continue;
		if (!denied_possible(&c[i])) {
			fprintf(stderr, "%u: %s: not as this user\n", i,
				c[i].name);
			continue;
		}
		fprintf(stderr, "%u: %s\n", i, c[i].name);
		assert_int_equal(denied_run(&c[i], fn), 0);
	}
}

#define DENIED_EACH(state, fn)						\
	do {								\
		(void)(state);						\
		denied_each(fn);					\
	} while (0)

#endif
