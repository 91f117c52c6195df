/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The allocator of ranges: disjoint, zero, committed, merged, given back.
 */
#include <config.h>

#include "util/fault.h"
#include "util/shmalloc.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB	((size_t)1 << 20)
#define START	4096

static struct ru_shm shm;
static struct ru_shmalloc a;

static int setup(void **state)
{
	(void)state;
	return ru_shm_create(&shm, "rosm-test", 16 * MIB, 16 * MIB, 0) ||
	       ru_shmalloc_init(&a, &shm, START);
}

static int teardown(void **state)
{
	(void)state;
	ru_shmalloc_fini(&a);
	ru_shm_fini(&shm);
	return 0;
}

static int is_zero(const char *p, size_t len)
{
	while (len--)
		if (*p++)
			return 0;
	return 1;
}

static size_t blocks_bytes(void)
{
	struct stat st;

	assert_int_equal(fstat(shm.fd, &st), 0);
	return (size_t)st.st_blocks * 512;
}

static uint64_t get(size_t len, size_t align)
{
	uint64_t off = 0;

	assert_int_equal(ru_shmalloc_get(&a, len, align, &off), 0);
	assert_int_equal(off % (align < 64 ? 64 : align), 0);
	assert_true(off >= START && off + len <= shm.size);
	assert_true(is_zero(ru_shmalloc_ptr(&a, off), len));
	return off;
}

static void ranges_are_aligned_zero_and_committed(void **state)
{
	uint64_t one, page, huge;

	(void)state;
	one = get(1, 1);
	page = get(100, 4096);
	huge = get(3 * MIB, 2 * MIB);
	assert_true(one && page && huge);
	assert_int_equal(ru_shmalloc_len(&a, one), 64);
	assert_int_equal(ru_shmalloc_len(&a, page), 128);
	assert_int_equal(blocks_bytes(), a.committed_bytes);
	memset(ru_shmalloc_ptr(&a, huge), 1, 3 * MIB);
	assert_int_equal(blocks_bytes(), a.committed_bytes);
}

static void a_freed_range_reads_as_zero_at_once(void **state)
{
	uint64_t small = get(1000, 64), big = get(200 * 1000, 64);

	(void)state;
	memset(ru_shmalloc_ptr(&a, small), 1, 1000);
	memset(ru_shmalloc_ptr(&a, big), 1, 200 * 1000);
	assert_int_equal(ru_shmalloc_put(&a, small), 0);
	assert_true(is_zero(ru_shmalloc_ptr(&a, small), 1000));
	assert_int_equal(ru_shmalloc_put(&a, big), 0);
	assert_true(is_zero(ru_shmalloc_ptr(&a, big), 200 * 1000));
}

static void what_a_peer_wrote_into_free_memory_is_gone_at_reuse(void **state)
{
	uint64_t off = get(256, 64);

	(void)state;
	assert_int_equal(ru_shmalloc_put(&a, off), 0);
	memset(ru_shmalloc_ptr(&a, off), 0xff, 256);
	assert_int_equal(get(256, 64), off);
}

static void large_ranges_go_back_to_the_kernel(void **state)
{
	uint64_t keep = get(64, 64), off = get(4 * MIB + 100, 64);
	size_t before = blocks_bytes();

	(void)state;
	memset(ru_shmalloc_ptr(&a, keep), 9, 64);
	assert_true(before >= 4 * MIB);
	assert_int_equal(ru_shmalloc_put(&a, off), 0);
	assert_true(blocks_bytes() <= 3 * ru_page_size());
	assert_int_equal(blocks_bytes(), a.committed_bytes);
	assert_int_equal(*(char *)ru_shmalloc_ptr(&a, keep), 9);
}

static void a_segment_without_holes_is_zeroed_instead(void **state)
{
	struct ru_shmalloc b;
	struct ru_shm ro = RU_SHM_NONE;
	uint64_t off;

	(void)state;
	assert_int_equal(ru_shm_create(&ro, "ro", 4 * MIB, 4 * MIB,
				       RU_SHM_PEERS_READ), 0);
	assert_int_equal(ru_shmalloc_init(&b, &ro, START), 0);
	assert_int_equal(ru_shmalloc_get(&b, MIB, 64, &off), 0);
	memset(ru_shmalloc_ptr(&b, off), 1, MIB);
	assert_int_equal(ru_shmalloc_put(&b, off), 0);
	assert_true(is_zero(ru_shmalloc_ptr(&b, off), MIB));
	ru_shmalloc_fini(&b);
	ru_shm_fini(&ro);
}

static void a_full_segment_says_so_and_recovers(void **state)
{
	uint64_t off[16], all;
	int n = 0;

	(void)state;
	while (n < 16 && !ru_shmalloc_get(&a, MIB, 64, &off[n]))
		n++;
	assert_int_equal(n, 15);
	assert_int_equal(ru_shmalloc_get(&a, MIB, 64, &all), -ENOMEM);
	while (n--)
		assert_int_equal(ru_shmalloc_put(&a, off[n]), 0);
	assert_int_equal(a.used_bytes, 0);
	all = get(shm.size - START, 64);
	assert_int_equal(all, START);
	assert_int_equal(ru_shmalloc_put(&a, all), 0);
}

static void only_what_is_allocated_can_be_freed(void **state)
{
	uint64_t off = get(256, 64);

	(void)state;
	assert_int_equal(ru_shmalloc_put(&a, 0), -EINVAL);
	assert_int_equal(ru_shmalloc_put(&a, off + 64), -EINVAL);
	assert_int_equal(ru_shmalloc_put(&a, UINT64_MAX), -EINVAL);
	assert_int_equal(ru_shmalloc_put(&a, off), 0);
	assert_int_equal(ru_shmalloc_put(&a, off), -EINVAL);
	assert_int_equal(ru_shmalloc_len(&a, off), 0);
}

static void bad_requests_are_refused(void **state)
{
	struct ru_shmalloc b;
	uint64_t off;

	(void)state;
	assert_int_equal(ru_shmalloc_get(&a, 0, 64, &off), -EINVAL);
	assert_int_equal(ru_shmalloc_get(&a, 1, 3, &off), -EINVAL);
	assert_int_equal(ru_shmalloc_get(&a, 1, 4 * MIB, &off), -EINVAL);
	assert_int_equal(ru_shmalloc_get(&a, SIZE_MAX, 64, &off), -ENOMEM);
	assert_int_equal(ru_shmalloc_init(&b, &shm, 0), -EINVAL);
	assert_int_equal(ru_shmalloc_init(&b, &shm, shm.size), -EINVAL);
}

#define LIVE	300

struct range {
	uint64_t off;
	size_t len;
	unsigned char fill;
};

/* Random life; each range is filled with its own byte and checked. */
static void random_gets_and_puts_never_overlap(void **state)
{
	static struct range live[LIVE];
	unsigned int seed = 12345;
	int turn, i;

	(void)state;
	memset(live, 0, sizeof(live));
	for (turn = 0; turn < 20000; turn++) {
		struct range *r = &live[rand_r(&seed) % LIVE];
		unsigned char *p;

		if (r->len) {
			p = ru_shmalloc_ptr(&a, r->off);
			assert_int_equal(p[0], r->fill);
			assert_int_equal(p[r->len / 2], r->fill);
			assert_int_equal(p[r->len - 1], r->fill);
			assert_int_equal(ru_shmalloc_put(&a, r->off), 0);
			r->len = 0;
			continue;
		}
		r->len = 1 + (size_t)rand_r(&seed) % 3000;
		if (rand_r(&seed) % 50 == 0)
			r->len *= 30;
		r->off = get(r->len, (size_t)1 << rand_r(&seed) % 13);
		r->fill = (unsigned char)(1 + turn % 255);
		memset(ru_shmalloc_ptr(&a, r->off), r->fill, r->len);
	}
	for (i = 0; i < LIVE; i++)
		if (live[i].len)
			assert_int_equal(ru_shmalloc_put(&a, live[i].off), 0);
	assert_int_equal(a.used_bytes, 0);
	assert_int_equal(a.allocated, 0);
	assert_int_equal(get(shm.size - START, 64), START);
}

static void *churn(void *arg)
{
	unsigned char fill = *(unsigned char *)arg;
	uintptr_t bad = 0;
	int i;

	for (i = 0; i < 500; i++) {
		size_t len = 64 + (size_t)i % 7 * 1000;
		unsigned char *p;
		uint64_t off;

		if (ru_shmalloc_get(&a, len, 64, &off)) {
			bad++;
			continue;
		}
		p = ru_shmalloc_ptr(&a, off);
		bad += !is_zero((char *)p, len);
		memset(p, fill, len);
		bad += p[0] != fill || p[len - 1] != fill;
		bad += ru_shmalloc_put(&a, off) != 0;
	}
	return (void *)bad;
}

static void threads_share_it(void **state)
{
	unsigned char fill[4] = { 1, 2, 3, 4 };
	pthread_t thread[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, churn,
						&fill[i]), 0);
	for (i = 0; i < 4; i++) {
		void *bad;

		assert_int_equal(pthread_join(thread[i], &bad), 0);
		assert_null(bad);
	}
	assert_int_equal(a.used_bytes, 0);
}

#ifdef ROSM_FAULT
static void shortage_of_pages_changes_nothing(void **state)
{
	uint64_t off = 77;

	(void)state;
	setenv("ROSM_FAULT", "fail:shm.commit", 1);
	ru_fault_reload();
	assert_int_equal(ru_shmalloc_get(&a, 100, 64, &off), -ENOMEM);
	assert_int_equal(off, 77);
	assert_int_equal(a.used_bytes, 0);
	get(100, 64);
	unsetenv("ROSM_FAULT");
	ru_fault_reload();
}
#endif

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(ranges_are_aligned_zero_and_committed),
		T(a_freed_range_reads_as_zero_at_once),
		T(what_a_peer_wrote_into_free_memory_is_gone_at_reuse),
		T(large_ranges_go_back_to_the_kernel),
		T(a_segment_without_holes_is_zeroed_instead),
		T(a_full_segment_says_so_and_recovers),
		T(only_what_is_allocated_can_be_freed),
		T(bad_requests_are_refused),
		T(random_gets_and_puts_never_overlap),
		T(threads_share_it),
#ifdef ROSM_FAULT
		T(shortage_of_pages_changes_nothing),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
