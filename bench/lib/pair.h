/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes that measure something together, each pinned to a processor
 * of its own. A pair is made either by fork (bench_pair_fork) or by an MPI
 * launcher, when both ranks name the same file (bench_pair_join). What they
 * share lies outside the library under test: its own progress does not matter
 * to the frame around it.
 *
 * A measurement is framed by bench_frame_begin and bench_frame_end, which take
 * the line before and after it and print one line of tab-separated text:
 *
 *	what face size_bytes line_before_ns line_after_ns class value unit
 */
#ifndef BENCH_LIB_PAIR_H
#define BENCH_LIB_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include "bench/lib/line.h"

enum { BENCH_CARD_BYTES = 512 };

struct bench_shared {
	struct bench_line line;
	_Alignas(64) _Atomic uint32_t at[2];	/* barriers passed */
	_Alignas(64) unsigned char card[2][BENCH_CARD_BYTES];
};

struct bench_pair {
	struct bench_shared *shared;
	int rank;
	uint32_t lines;		/* rounds of the line so far */
	uint32_t barriers;
	double before_ns;
};

/*
 * Forks rank 1 and pins both; each returns with its own rank. It ends with
 * status 1 and a message when that is impossible. The pair ends by alarm after
 * seconds.
 */
void bench_pair_fork(struct bench_pair *pair, unsigned int seconds);
/* The same for two processes that run already and name the same new file. */
void bench_pair_join(struct bench_pair *pair, int rank, const char *path,
		     unsigned int seconds);
/* Rank 0 of a fork: waits for rank 1; what main returns. */
int bench_pair_end(struct bench_pair *pair);

void bench_barrier(struct bench_pair *pair);
/* Gives mine to the other, which gives theirs; at most BENCH_CARD_BYTES. */
void bench_swap(struct bench_pair *pair, const void *mine, void *theirs,
		size_t len);

/*
 * Around warming up and a frame: with BENCH_REALTIME=1 in the environment and
 * the right to it, others do not get this processor meanwhile (SCHED_RR). Keep
 * it short: they wait.
 */
void bench_quiet_begin(void);
void bench_quiet_end(void);

void bench_frame_begin(struct bench_pair *pair);
/* Rank 0 prints; the value counts there only. */
void bench_frame_end(struct bench_pair *pair, const char *what,
		     const char *face, size_t size, double value,
		     const char *unit);

/* Prints what, and the reason if err is not 0 (-errno), and ends the process. */
void bench_fail(const char *what, int err) __attribute__((noreturn));

/* n when it is 0 or more, or the end. */
int bench_need(int n, const char *what);

uint64_t bench_now_ns(void);

/*
 * Times of equal pieces of work, one after the other. Their median is what a
 * measurement reports: on a machine that others use too, the mean says how
 * often the two were interrupted.
 */
enum { BENCH_SAMPLES = 512 };

struct bench_samples {
	unsigned long per;	/* pieces in one sample, at least 1 */
	unsigned long left;	/* of the sample under way */
	unsigned int n;
	uint64_t since_ns;
	double ns[BENCH_SAMPLES];	/* of one piece */
};

/* Before the first of total pieces. */
void bench_samples_begin(struct bench_samples *s, unsigned long total);
void bench_samples_end_one(struct bench_samples *s);
double bench_samples_median(struct bench_samples *s);

/* A piece is done. */
static inline void bench_samples_piece(struct bench_samples *s)
{
	if (!--s->left)
		bench_samples_end_one(s);
}

#endif
