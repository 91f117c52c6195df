/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assertions for the workers of a multi-process test. cmocka's own jump back
 * into the test runner, which must not happen in a forked child; these print
 * file, line, pid and values to stderr and end the calling process with
 * status 1, which mp_finish() reports as the failure of the test.
 */
#ifndef TESTS_LIB_ASSERT_H
#define TESTS_LIB_ASSERT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Noreturn void check_failed(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void check_int(const char *file, int line, const char *what,
			     long long got, const char *op, int holds,
			     long long want)
{
	if (!holds)
		check_failed(file, line, "%s is %lld (0x%llx), wanted %s %lld",
			     what, got, (unsigned long long)got, op, want);
}

static inline void check_mem(const char *file, int line, const char *what,
			     const void *got, const void *want, size_t len)
{
	const unsigned char *g = got, *w = want;
	size_t i;

	for (i = 0; i < len; i++)
		if (g[i] != w[i])
			check_failed(file, line,
				     "%s: byte %zu of %zu is 0x%02x, wanted 0x%02x",
				     what, i, len, g[i], w[i]);
}

static inline void check_str(const char *file, int line, const char *what,
			     const char *got, const char *want)
{
	if (!got || strcmp(got, want))
		check_failed(file, line, "%s is \"%s\", wanted \"%s\"", what,
			     got ? got : "(null)", want);
}

/* The condition holds. */
#define CHECK(cond) \
	((cond) ? (void)0 : \
	 check_failed(__FILE__, __LINE__, "not true: %s", #cond))

/* Integers; each argument is evaluated once. */
#define CHECK_OP(got, op, want) \
	do { \
		long long g_ = (long long)(got), w_ = (long long)(want); \
		check_int(__FILE__, __LINE__, #got, g_, #op, g_ op w_, w_); \
	} while (0)
#define CHECK_EQ(got, want) CHECK_OP(got, ==, want)
#define CHECK_NE(got, want) CHECK_OP(got, !=, want)
#define CHECK_LT(got, want) CHECK_OP(got, <, want)
#define CHECK_LE(got, want) CHECK_OP(got, <=, want)
#define CHECK_GT(got, want) CHECK_OP(got, >, want)
#define CHECK_GE(got, want) CHECK_OP(got, >=, want)

/* 0 is success, as in most calls here. */
#define CHECK_OK(call) CHECK_EQ(call, 0)

#define CHECK_MEM(got, want, len) \
	check_mem(__FILE__, __LINE__, #got, got, want, len)
#define CHECK_STR(got, want) check_str(__FILE__, __LINE__, #got, got, want)

#endif
