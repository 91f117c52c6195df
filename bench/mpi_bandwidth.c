/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/mpi_bandwidth: bytes a second of windows of MPI_Isend and MPI_Irecv,
 * one way or (-b) both ways at once, bytes of both directions counted.
 */
#include <config.h>

#include "bench/mpi.h"

static double gigabytes(double per_s, size_t size)
{
	return per_s * (double)size / 1e9;
}

int main(int argc, char **argv)
{
	return bench_mpi_stream(argc, argv, "bandwidth", "bandwidth-both",
				"8192,65536,1048576", gigabytes, "GB/s");
}
