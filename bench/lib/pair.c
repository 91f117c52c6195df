/* SPDX-License-Identifier: BSD-2-Clause */
/* See pair.h. */
#include <config.h>

#include "bench/lib/pair.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t child;

uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * UINT64_C(1000000000) +
	       (uint64_t)ts.tv_nsec;
}

void bench_fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s%s%s\n", program_invocation_short_name, what,
		err ? ": " : "", err ? strerror(-err) : "");
	exit(1);
}

int bench_need(int n, const char *what)
{
	if (n < 0)
		bench_fail(what, n);
	return n;
}

static void start(struct bench_pair *pair, int rank, unsigned int seconds)
{
	pair->rank = rank;
	alarm(seconds);
	bench_need(bench_pin(rank), "pinning");
	setvbuf(stdout, NULL, _IOLBF, 0);
	bench_barrier(pair);
}

void bench_pair_fork(struct bench_pair *pair, unsigned int seconds)
{
	memset(pair, 0, sizeof(*pair));
	pair->shared = mmap(NULL, sizeof(*pair->shared),
			    PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pair->shared == MAP_FAILED)
		bench_fail("mmap", -errno);
	child = fork();
	if (child < 0)
		bench_fail("fork", -errno);
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	start(pair, !child, seconds);
}

void bench_pair_join(struct bench_pair *pair, int rank, const char *path,
		     unsigned int seconds)
{
	memset(pair, 0, sizeof(*pair));
	pair->shared = bench_share(path, sizeof(*pair->shared));
	if (!pair->shared)
		bench_fail(path, -errno);
	start(pair, rank, seconds);
	unlink(path);	/* both have it mapped */
}

int bench_pair_end(struct bench_pair *pair)
{
	int status;

	if (pair->rank || !child)
		return 0;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			bench_fail("waitpid", -errno);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void bench_barrier(struct bench_pair *pair)
{
	struct bench_shared *sh = pair->shared;
	uint32_t n = ++pair->barriers;
	unsigned int spins = 0;

	atomic_store_explicit(&sh->at[pair->rank], n, memory_order_release);
	while (atomic_load_explicit(&sh->at[!pair->rank],
				    memory_order_acquire) < n)
		if (++spins > 1000)
			sched_yield();
}

void bench_swap(struct bench_pair *pair, const void *mine, void *theirs,
		size_t len)
{
	if (len > BENCH_CARD_BYTES)
		bench_fail("bench_swap", -EMSGSIZE);
	memcpy(pair->shared->card[pair->rank], mine, len);
	bench_barrier(pair);
	memcpy(theirs, pair->shared->card[!pair->rank], len);
	bench_barrier(pair);
}

static void schedule(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	const char *wanted = getenv("BENCH_REALTIME");

	if (!wanted || strcmp(wanted, "1"))
		return;
	if (sched_setscheduler(0, policy, &param))
		bench_fail("BENCH_REALTIME", -errno);
}

void bench_quiet_begin(void)
{
	schedule(SCHED_RR, 1);
}

void bench_quiet_end(void)
{
	schedule(SCHED_OTHER, 0);
}

static double line(struct bench_pair *pair)
{
	double ns;

	bench_barrier(pair);
	bench_need(bench_line_ns(&pair->shared->line, pair->rank,
				 ++pair->lines, &ns), "line");
	return ns;
}

void bench_frame_begin(struct bench_pair *pair)
{
	pair->before_ns = line(pair);
}

void bench_frame_end(struct bench_pair *pair, const char *what,
		     const char *face, size_t size, double value,
		     const char *unit)
{
	double after = line(pair);

	if (pair->rank == 0)
		printf("%s\t%s\t%zu\t%.1f\t%.1f\t%s\t%.4g\t%s\n", what, face,
		       size, pair->before_ns, after,
		       bench_class_name(bench_classify(pair->before_ns, after)),
		       value, unit);
}

void bench_samples_begin(struct bench_samples *s, unsigned long total)
{
	s->n = 0;
	s->per = (total + BENCH_SAMPLES - 1) / BENCH_SAMPLES;
	s->left = s->per;
	s->since_ns = bench_now_ns();
}

void bench_samples_end_one(struct bench_samples *s)
{
	uint64_t now = bench_now_ns();

	if (s->n < BENCH_SAMPLES)
		s->ns[s->n++] = (double)(now - s->since_ns) / (double)s->per;
	s->left = s->per;
	s->since_ns = now;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_samples_median(struct bench_samples *s)
{
	if (!s->n)
		bench_fail("no sample", 0);
	qsort(s->ns, s->n, sizeof(s->ns[0]), by_value);
	return (s->ns[(s->n - 1) / 2] + s->ns[s->n / 2]) / 2;
}
