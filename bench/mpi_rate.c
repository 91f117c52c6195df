/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/mpi_rate: messages a second of windows of MPI_Isend and MPI_Irecv, one
 * way or (-b) both ways at once, messages of both directions counted.
 */
#include <config.h>

#include "bench/mpi.h"

static double millions(double per_s, size_t size)
{
	(void)size;
	return per_s / 1e6;
}

int main(int argc, char **argv)
{
	return bench_mpi_stream(argc, argv, "rate", "rate-both", "8", millions,
				"M/s");
}
