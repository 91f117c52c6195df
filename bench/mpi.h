/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the MPI programs share: options and the start. They take -S FILE, a new
 * file that both ranks map for the line and the barriers: nothing that frames
 * a measurement goes through MPI, which may be a library that moves nothing.
 */
#ifndef BENCH_MPI_H
#define BENCH_MPI_H

#include <stddef.h>

#include "bench/lib/pair.h"

enum { BENCH_MPI_WINDOW = 64, BENCH_MPI_SIZES = 32 };

struct bench_mpi {
	struct bench_pair pair;
	const char *share;	/* -S */
	const char *name;	/* -n: what the output calls this library */
	size_t sizes[BENCH_MPI_SIZES];	/* -s */
	unsigned int n_sizes;
	unsigned long ms;	/* -t */
	unsigned int repeats;	/* -r */
	int both_ways;		/* -b */
	char *from, *to;	/* of the largest size */
};

void bench_mpi_start(struct bench_mpi *b, int argc, char **argv,
		     const char *default_sizes);
/* Frees, ends MPI; what main returns. */
int bench_mpi_end(struct bench_mpi *b);
/* Rank 0's number for both. */
unsigned long bench_mpi_agree(struct bench_mpi *b, unsigned long n);

/* bandwidth and rate: see lib/stream.h */
int bench_mpi_stream(int argc, char **argv, const char *what,
		     const char *what_both, const char *sizes,
		     double (*value)(double per_s, size_t size),
		     const char *unit);

#endif
