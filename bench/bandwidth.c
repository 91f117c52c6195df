/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/bandwidth: how many bytes a second? Windows of messages over the face
 * -f, one way or (-b) both ways at once, bytes of both directions counted.
 */
#include <config.h>

#include "bench/lib/stream.h"

static double gigabytes(double per_s, size_t size)
{
	return per_s * (double)size / 1e9;
}

int main(int argc, char **argv)
{
	return bench_stream_main(argc, argv, "bandwidth", "bandwidth-both",
				 "8192,65536,1048576,4194304", gigabytes,
				 "GB/s");
}
