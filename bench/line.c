/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/line [-n COUNT] [-w MS]: how far apart are the two processors now?
 * Prints COUNT lines (10), MS milliseconds apart (100), in the form of pair.h:
 * the value is the median over the time between two readings of the line.
 */
#include <config.h>

#include "bench/lib/pair.h"

#include <stdlib.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = 10, ms = 100, i;
	struct bench_pair pair;
	struct timespec gap;
	double ns = 0;
	int opt;

	while ((opt = getopt(argc, argv, "n:w:")) != -1) {
		if (opt == 'n')
			n = atol(optarg);
		else if (opt == 'w')
			ms = atol(optarg);
		else
			return 2;
	}
	if (n < 1 || ms < 0 || optind < argc) {
		fprintf(stderr, "usage: line [-n COUNT] [-w MILLISECONDS]\n");
		return 2;
	}
	gap.tv_sec = ms / 1000;
	gap.tv_nsec = ms % 1000 * 1000000;
	bench_pair_fork(&pair, (unsigned int)(60 + n * (ms + 100) / 1000));
	for (i = 0; i < n; i++) {
		bench_frame_begin(&pair);
		nanosleep(&gap, NULL);
		bench_barrier(&pair);
		bench_need(bench_line_ns(&pair.shared->line, pair.rank,
					 ++pair.lines, &ns), "line");
		bench_frame_end(&pair, "line", "memory", 64, ns, "ns");
	}
	return bench_pair_end(&pair);
}
