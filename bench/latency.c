/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/latency: how long does a message take? Half the round trip of a
 * ping-pong between two pinned processes, over the face -f. How many round
 * trips fill the time of a measurement is found by a first, unrecorded one;
 * rank 0 decides and tells.
 */
#include <config.h>

#include "bench/lib/face.h"

static unsigned long iterations(struct bench_pair *pair, double ns,
				unsigned long ms)
{
	unsigned long mine = (unsigned long)((double)ms * 1e6 / (2.0 * ns)),
		      theirs;

	bench_swap(pair, &mine, &theirs, sizeof(mine));
	mine = pair->rank ? theirs : mine;
	return mine < 10 ? 10 : mine;
}

int main(int argc, char **argv)
{
	struct bench_args args;
	struct bench_pair pair;
	unsigned int r, i;
	unsigned long n;
	double ns;
	void *end;

	bench_args_parse(&args, argc, argv, "8,64,1024,8192,65536,1048576");
	bench_pair_fork(&pair, 60 + args.repeats * args.n_sizes *
			       (unsigned int)(args.ms / 100 + 1));
	end = args.face->open(&pair, bench_args_max(&args), args.provider);
	for (r = 0; r < args.repeats; r++) {
		for (i = 0; i < args.n_sizes; i++) {
			bench_quiet_begin();
			ns = args.face->pingpong(end, &pair, args.sizes[i], 20);
			ns = args.face->pingpong(end, &pair, args.sizes[i], 50);
			n = iterations(&pair, ns, args.ms);
			bench_frame_begin(&pair);
			ns = args.face->pingpong(end, &pair, args.sizes[i], n);
			bench_frame_end(&pair, "latency",
					bench_args_name(&args), args.sizes[i],
					ns, "ns");
			bench_quiet_end();
		}
	}
	args.face->close(end);
	return bench_pair_end(&pair);
}
