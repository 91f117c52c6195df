/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/rate: how many small messages a second? Windows of messages over the
 * face -f, one way or (-b) both ways at once, both directions counted.
 */
#include <config.h>

#include "bench/lib/stream.h"

static double millions(double per_s, size_t size)
{
	(void)size;
	return per_s / 1e6;
}

int main(int argc, char **argv)
{
	return bench_stream_main(argc, argv, "rate", "rate-both", "8",
				 millions, "M/s");
}
