/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See line.h. The two words count up to the same numbers in each round: rank 0
 * stores n and waits for n, rank 1 waits for n and stores n. Words are never
 * set back, so that a round needs no other agreement than its number.
 */
#include <config.h>

#include "bench/lib/line.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 41, TRIPS = 150, WARM = 200, LOOK_EVERY = 1 << 16 };

#define WAIT_NS	(10 * UINT64_C(1000000000))

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)ts.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

/*
 * Out of the timed loop's way. The processor is given away: without that, two
 * processes that must share one would wait for a whole time slice each.
 */
static int __attribute__((noinline)) wait_long(_Atomic uint32_t *word,
					       uint32_t n)
{
	uint64_t end = now_ns() + WAIT_NS;

	while (atomic_load_explicit(word, memory_order_acquire) != n) {
		sched_yield();
		if (now_ns() > end)
			return -ETIMEDOUT;
	}
	return 0;
}

static inline int wait_for(_Atomic uint32_t *word, uint32_t n)
{
	unsigned int i;

	for (i = 0; i < LOOK_EVERY; i++) {
		if (atomic_load_explicit(word, memory_order_acquire) == n)
			return 0;
		relax();
	}
	return wait_long(word, n);
}

static int trips(struct bench_line *line, int rank, uint32_t from, uint32_t n)
{
	_Atomic uint32_t *mine = line->turn[rank], *other = line->turn[!rank];
	uint32_t i;
	int rc;

	for (i = from + 1; i <= from + n; i++) {
		if (rank == 0)
			atomic_store_explicit(mine, i, memory_order_release);
		rc = wait_for(other, i);
		if (rc)
			return rc;
		if (rank == 1)
			atomic_store_explicit(mine, i, memory_order_release);
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int bench_line_ns(struct bench_line *line, int rank, uint32_t round,
		  double *ns_out)
{
	uint32_t at = (round - 1) * (WARM + BATCHES * TRIPS);
	double half[BATCHES];
	uint64_t begin;
	int i, rc;

	rc = trips(line, rank, at, WARM);
	if (rc)
		return rc;
	at += WARM;
	for (i = 0; i < BATCHES; i++, at += TRIPS) {
		begin = now_ns();
		rc = trips(line, rank, at, TRIPS);
		if (rc)
			return rc;
		half[i] = (double)(now_ns() - begin) / (2.0 * TRIPS);
	}
	if (rank == 0) {
		qsort(half, BATCHES, sizeof(half[0]), by_value);
		atomic_store_explicit(&line->half_trip_ps,
				      (uint64_t)(half[BATCHES / 2] * 1000.0),
				      memory_order_relaxed);
		atomic_store_explicit(&line->round, round,
				      memory_order_release);
	} else {
		rc = wait_for(&line->round, round);
		if (rc)
			return rc;
	}
	*ns_out = (double)atomic_load_explicit(&line->half_trip_ps,
					       memory_order_relaxed) / 1000.0;
	return 0;
}

enum bench_class bench_classify(double before_ns, double after_ns)
{
	int before = before_ns < BENCH_NEAR_NS, after = after_ns < BENCH_NEAR_NS;

	if (before != after)
		return BENCH_MIXED;
	return before ? BENCH_NEAR : BENCH_FAR;
}

const char *bench_class_name(enum bench_class c)
{
	static const char *const names[] = {
		[BENCH_NEAR] = "near",
		[BENCH_FAR] = "far",
		[BENCH_MIXED] = "mixed",
	};

	return names[c];
}

int bench_pin(int n)
{
	cpu_set_t allowed, one;
	int cpu, count;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	count = CPU_COUNT(&allowed);
	if (n < 0 || !count)
		return -EINVAL;
	n %= count;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && n-- == 0)
			break;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : cpu;
}

void *bench_share(const char *path, unsigned long bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), err;
	void *p;

	if (fd < 0)
		return NULL;
	if (ftruncate(fd, (off_t)bytes)) {
		err = errno;
		close(fd);
		errno = err;
		return NULL;
	}
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = errno;
	close(fd);
	errno = err;
	return p == MAP_FAILED ? NULL : p;
}
