/* SPDX-License-Identifier: BSD-2-Clause */
/* The main of bandwidth and rate, see stream.h. */
#include <config.h>

#include "bench/lib/stream.h"

#include "bench/lib/face.h"

/* As many windows as fill the time at so many messages a second. */
static unsigned long windows(struct bench_pair *pair, double per_s,
			     unsigned long ms, int both_ways)
{
	unsigned long mine = (unsigned long)(per_s * (double)ms / 1e3 /
					     (both_ways ? 2 : 1) /
					     BENCH_WINDOW), theirs;

	bench_swap(pair, &mine, &theirs, sizeof(mine));
	mine = pair->rank ? theirs : mine;
	return mine < 3 ? 3 : mine;
}

int bench_stream_main(int argc, char **argv, const char *what,
		      const char *what_both, const char *sizes,
		      double (*value)(double per_s, size_t size),
		      const char *unit)
{
	struct bench_args args;
	struct bench_pair pair;
	unsigned int r, i;
	unsigned long n;
	double per_s;
	void *end;

	bench_args_parse(&args, argc, argv, sizes);
	bench_pair_fork(&pair, 60 + args.repeats * args.n_sizes *
			       (unsigned int)(args.ms / 100 + 1));
	end = args.face->open(&pair, bench_args_max(&args), args.provider);
	for (r = 0; r < args.repeats; r++) {
		for (i = 0; i < args.n_sizes; i++) {
			bench_quiet_begin();
			per_s = args.face->stream(end, &pair, args.sizes[i], 3,
						  args.both_ways);
			n = windows(&pair, per_s, args.ms, args.both_ways);
			bench_frame_begin(&pair);
			per_s = args.face->stream(end, &pair, args.sizes[i], n,
						  args.both_ways);
			bench_frame_end(&pair,
					args.both_ways ? what_both : what,
					bench_args_name(&args), args.sizes[i],
					value(per_s, args.sizes[i]), unit);
			bench_quiet_end();
		}
	}
	args.face->close(end);
	return bench_pair_end(&pair);
}
