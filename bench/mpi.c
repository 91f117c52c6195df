/* SPDX-License-Identifier: BSD-2-Clause */
/* See mpi.h. */
#include <config.h>

#include "bench/mpi.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG = 7 };

static void usage(void)
{
	fprintf(stderr, "usage: mpirun -n 2 %s -S NEW-FILE [-n NAME] "
		"[-s SIZE,...] [-t MILLISECONDS] [-r REPEATS] [-b]\n",
		program_invocation_short_name);
	exit(2);
}

static void parse_sizes(struct bench_mpi *b, const char *list)
{
	char *end;

	for (b->n_sizes = 0; *list; list = *end ? end + 1 : end) {
		if (b->n_sizes == BENCH_MPI_SIZES)
			usage();
		b->sizes[b->n_sizes] = strtoul(list, &end, 0);
		if (end == list || (*end && *end != ',') ||
		    !b->sizes[b->n_sizes++])
			usage();
	}
}

static void parse(struct bench_mpi *b, int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "S:n:s:t:r:b")) != -1) {
		switch (opt) {
		case 'S':
			b->share = optarg;
			break;
		case 'n':
			b->name = optarg;
			break;
		case 's':
			parse_sizes(b, optarg);
			break;
		case 't':
			b->ms = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			b->repeats = (unsigned int)strtoul(optarg, NULL, 0);
			break;
		case 'b':
			b->both_ways = 1;
			break;
		default:
			usage();
		}
	}
	if (!b->share || !b->n_sizes || !b->ms || optind < argc)
		usage();
}

void bench_mpi_start(struct bench_mpi *b, int argc, char **argv,
		     const char *default_sizes)
{
	size_t max = 64;
	int rank, ranks;
	unsigned int i;

	memset(b, 0, sizeof(*b));
	b->name = "mpi";
	b->ms = 20;
	b->repeats = 1;
	parse_sizes(b, default_sizes);
	MPI_Init(&argc, &argv);
	parse(b, argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks != 2)
		usage();
	for (i = 0; i < b->n_sizes; i++)
		if (b->sizes[i] > max)
			max = b->sizes[i];
	max = (max + 4095) & ~(size_t)4095;
	b->from = aligned_alloc(4096, max);
	b->to = aligned_alloc(4096, max);
	if (!b->from || !b->to)
		bench_fail("out of memory", 0);
	memset(b->from, rank + 1, max);
	memset(b->to, 0, max);
	bench_pair_join(&b->pair, rank, b->share,
			60 + b->repeats * b->n_sizes *
			     (unsigned int)(b->ms / 100 + 1));
}

int bench_mpi_end(struct bench_mpi *b)
{
	bench_barrier(&b->pair);
	free(b->from);
	free(b->to);
	MPI_Finalize();
	return 0;
}

unsigned long bench_mpi_agree(struct bench_mpi *b, unsigned long n)
{
	unsigned long other;

	bench_swap(&b->pair, &n, &other, sizeof(n));
	return b->pair.rank ? other : n;
}

/* The loop of lib/loops.h's bench_stream, in MPI's calls. */
static double stream(struct bench_mpi *b, size_t size, unsigned long windows)
{
	int n = (int)size, other = !b->pair.rank, i;
	int sends = b->both_ways || b->pair.rank == 0;
	int takes = b->both_ways || b->pair.rank == 1;
	MPI_Request req[2 * BENCH_MPI_WINDOW];
	struct bench_samples samples;
	unsigned long w;
	int reqs;

	bench_barrier(&b->pair);
	bench_samples_begin(&samples, windows);
	for (w = 0; w < windows; w++) {
		reqs = 0;
		for (i = 0; takes && i < BENCH_MPI_WINDOW; i++)
			MPI_Irecv(b->to, n, MPI_CHAR, other, TAG,
				  MPI_COMM_WORLD, &req[reqs++]);
		for (i = 0; sends && i < BENCH_MPI_WINDOW; i++)
			MPI_Isend(b->from, n, MPI_CHAR, other, TAG,
				  MPI_COMM_WORLD, &req[reqs++]);
		MPI_Waitall(reqs, req, MPI_STATUSES_IGNORE);
		if (takes)
			MPI_Send(b->from, 4, MPI_CHAR, other, TAG + 1,
				 MPI_COMM_WORLD);
		if (sends)
			MPI_Recv(b->to, 4, MPI_CHAR, other, TAG + 1,
				 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		bench_samples_piece(&samples);
	}
	bench_barrier(&b->pair);
	return BENCH_MPI_WINDOW * (b->both_ways ? 2 : 1) * 1e9 /
	       bench_samples_median(&samples);
}

int bench_mpi_stream(int argc, char **argv, const char *what,
		     const char *what_both, const char *sizes,
		     double (*value)(double per_s, size_t size),
		     const char *unit)
{
	struct bench_mpi b;
	unsigned long n;
	unsigned int r, i;
	double per_s;

	bench_mpi_start(&b, argc, argv, sizes);
	for (r = 0; r < b.repeats; r++) {
		for (i = 0; i < b.n_sizes; i++) {
			bench_quiet_begin();
			per_s = stream(&b, b.sizes[i], 3);
			n = (unsigned long)(per_s * (double)b.ms / 1e3 /
					    (b.both_ways ? 2 : 1) /
					    BENCH_MPI_WINDOW);
			n = bench_mpi_agree(&b, n < 3 ? 3 : n);
			bench_frame_begin(&b.pair);
			per_s = stream(&b, b.sizes[i], n);
			bench_frame_end(&b.pair,
					b.both_ways ? what_both : what, b.name,
					b.sizes[i], value(per_s, b.sizes[i]),
					unit);
			bench_quiet_end();
		}
	}
	return bench_mpi_end(&b);
}
