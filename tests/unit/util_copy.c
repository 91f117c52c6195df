/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies are exact at every size and offset, keep to their bounds, and store
 * the end last, as another process sees it.
 */
#include <config.h>

#include "util/copy.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MAX	700
#define ROOM	(MAX + 128)

static unsigned char src[ROOM], dst[ROOM];

static void fill(void)
{
	size_t i;

	for (i = 0; i < ROOM; i++) {
		src[i] = (unsigned char)(i * 7 + 1);
		dst[i] = 0xee;
	}
}

static void check_one(void (*copy)(void *, const void *, size_t), size_t s,
		      size_t d, size_t n)
{
	size_t i;

	memset(dst, 0xee, ROOM);
	copy(dst + d, src + s, n);
	assert_int_equal(memcmp(dst + d, src + s, n), 0);
	for (i = 0; i < d; i++)
		assert_int_equal(dst[i], 0xee);
	for (i = d + n; i < ROOM; i++)
		assert_int_equal(dst[i], 0xee);
}

static void check_all(void (*copy)(void *, const void *, size_t))
{
	static const size_t offsets[] = { 0, 1, 7, 8, 15, 16, 31, 33, 63 };
	size_t s, d, n;

	fill();
	for (n = 0; n <= MAX; n += n < 300 ? 1 : 13)
		for (s = 0; s < RU_ARRAY_SIZE(offsets); s += 2)
			for (d = 0; d < RU_ARRAY_SIZE(offsets); d++)
				check_one(copy, offsets[s], offsets[d], n);
}

static void copy_inline(void *d, const void *s, size_t n)
{
	ru_copy(d, s, n);
}

static void copy_is_exact_and_stays_in_bounds(void **state)
{
	(void)state;
	check_all(copy_inline);
}

static void streaming_copy_is_exact_and_stays_in_bounds(void **state)
{
	(void)state;
	check_all(ru_copy_stream);
}

static void megabytes_arrive_whole(void **state)
{
	size_t i, n = 3 * 1000 * 1000 + 5;
	unsigned char *a = malloc(n + 64), *b = malloc(n + 64);

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	for (i = 0; i < n; i++)
		a[i + 16] = (unsigned char)(i ^ i >> 8 ^ i >> 16);
	ru_copy(b + 17, a + 16, n);
	assert_int_equal(memcmp(b + 17, a + 16, n), 0);
	memset(b, 0, n + 64);
	ru_copy_stream(b + 33, a + 16, n);
	assert_int_equal(memcmp(b + 33, a + 16, n), 0);
	free(a);
	free(b);
}

struct board {
	_Atomic uint32_t go;	/* round that the writer may write */
	_Atomic uint32_t seen;
	_Atomic unsigned char bytes[8192];
};

enum { ROUNDS = 300 };

static size_t size_of_round(uint32_t round)
{
	static const size_t sizes[] = {
		2, 9, 16, 17, 33, 64, 100, 257, 300, 1000, 4097, 8000
	};

	return sizes[round % RU_ARRAY_SIZE(sizes)];
}

static void write_rounds(struct board *b,
			 void (*copy)(void *, const void *, size_t))
{
	unsigned char *text = malloc(sizeof(b->bytes));
	uint32_t round;

	if (!text)
		_exit(2);
	for (round = 1; round <= ROUNDS; round++) {
		while (atomic_load(&b->go) != round)
			sched_yield();
		memset(text, (int)(round & 0x7f) + 1, sizeof(b->bytes));
		copy((void *)b->bytes, text, size_of_round(round));
	}
	_exit(0);
}

/* The reader polls the last byte alone, as programs do. */
static void last_byte_is_seen_last(void (*copy)(void *, const void *, size_t))
{
	struct board *b;
	uint32_t round;
	pid_t child;
	int status;

	b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(b, MAP_FAILED);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		alarm(30);
		write_rounds(b, copy);
	}
	for (round = 1; round <= ROUNDS; round++) {
		unsigned char want = (unsigned char)((round & 0x7f) + 1);
		size_t i, n = size_of_round(round);

		for (i = 0; i < n; i++)
			atomic_store_explicit(&b->bytes[i], 0,
					      memory_order_relaxed);
		atomic_store(&b->go, round);
		while (atomic_load_explicit(&b->bytes[n - 1],
					    memory_order_acquire) != want) {
			if (waitpid(child, &status, WNOHANG) == child &&
			    round < ROUNDS)
				fail_msg("the writer ended: %#x", status);
			sched_yield();
		}
		for (i = 0; i < n; i++)
			if (atomic_load_explicit(&b->bytes[i],
					memory_order_relaxed) != want)
				fail_msg("round %u: byte %zu of %zu is late",
					 round, i, n);
	}
	waitpid(child, &status, 0);
	munmap(b, sizeof(*b));
}

static void copy_stores_the_last_byte_last(void **state)
{
	(void)state;
	last_byte_is_seen_last(copy_inline);
}

static void streaming_copy_stores_the_last_byte_last(void **state)
{
	(void)state;
	last_byte_is_seen_last(ru_copy_stream);
}

static void iov_copies_start_anywhere_and_end_at_the_shorter(void **state)
{
	char a[4] = "abc", b[1], c[8] = "defghij", out[16];
	struct iovec iov[] = {
		{ a, 3 }, { NULL, 0 }, { b, 0 }, { c, 7 },
	};

	(void)state;
	assert_int_equal(ru_iov_len(iov, 4), 10);
	assert_int_equal(ru_iov_len(NULL, 0), 0);
	assert_int_equal(ru_copy_from_iov(out, iov, 4, 0, 16), 10);
	assert_memory_equal(out, "abcdefghij", 10);
	assert_int_equal(ru_copy_from_iov(out, iov, 4, 2, 3), 3);
	assert_memory_equal(out, "cde", 3);
	assert_int_equal(ru_copy_from_iov(out, iov, 4, 3, 1), 1);
	assert_memory_equal(out, "d", 1);
	assert_int_equal(ru_copy_from_iov(out, iov, 4, 10, 1), 0);
	assert_int_equal(ru_copy_from_iov(out, iov, 4, 99, 1), 0);
	assert_int_equal(ru_copy_to_iov(iov, 4, 1, "XYZ", 3), 3);
	assert_memory_equal(a, "aXY", 3);
	assert_memory_equal(c, "Zefghij", 7);
	assert_int_equal(ru_copy_to_iov(iov, 4, 8, "12345", 5), 2);
	assert_memory_equal(c, "Zefgh12", 7);
}

static void a_vector_whose_length_wraps_is_endless(void **state)
{
	struct iovec iov[] = { { NULL, SIZE_MAX }, { NULL, 2 } };

	(void)state;
	assert_true(ru_iov_len(iov, 2) == SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_is_exact_and_stays_in_bounds),
		cmocka_unit_test(streaming_copy_is_exact_and_stays_in_bounds),
		cmocka_unit_test(megabytes_arrive_whole),
		cmocka_unit_test(copy_stores_the_last_byte_last),
		cmocka_unit_test(streaming_copy_stores_the_last_byte_last),
		cmocka_unit_test(
			iov_copies_start_anywhere_and_end_at_the_shorter),
		cmocka_unit_test(a_vector_whose_length_wraps_is_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
