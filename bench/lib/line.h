/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The distance of two cores, as the time that a cache line takes from one to
 * the other: half the round trip of two pinned processes that each write one
 * line of their own and poll the other's with PAUSE.
 *
 * On virtual machines this distance changes by a factor of five within seconds
 * and nothing inside tells, so each measurement is framed by two of these and
 * counts only if both say the same. The code depends on nothing of rosm, for
 * programs of any kind to link it.
 */
#ifndef BENCH_LIB_LINE_H
#define BENCH_LIB_LINE_H

#include <stdatomic.h>
#include <stdint.h>

/* Lies in zeroed memory that both processes map, aligned to its lines. */
struct bench_line {
	_Alignas(64) _Atomic uint32_t turn[2][16];
	_Alignas(64) _Atomic uint64_t half_trip_ps;	/* written by rank 0 */
	_Atomic uint32_t round;	/* of half_trip_ps, written after it */
};

enum bench_class { BENCH_NEAR, BENCH_FAR, BENCH_MIXED };

/* Below this a line is near; sources of both states lie well off it. */
#define BENCH_NEAR_NS	120.0

/*
 * Called by both processes, rank 0 and 1, at about the same time; round is 1,
 * 2, ... of the pair and equal on both sides. Takes 1-5 ms. 0: *ns_out is the
 * median of its batches, the same on both sides. -ETIMEDOUT: the other did not
 * answer for 10 s.
 */
int bench_line_ns(struct bench_line *line, int rank, uint32_t round,
		  double *ns_out);

/* near, far, or mixed when the two disagree. */
enum bench_class bench_classify(double before_ns, double after_ns);
const char *bench_class_name(enum bench_class c);

/*
 * Pins the caller to the n-th processor that it is allowed to use (counted
 * round). The processor's number, or -errno.
 */
int bench_pin(int n);

/*
 * Maps the file at path (made and sized by who comes first) for what two
 * processes share outside the library that is measured. NULL with errno.
 */
void *bench_share(const char *path, unsigned long bytes);

#endif
