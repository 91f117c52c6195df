/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/mpi_latency: half the round trip of MPI_Send and MPI_Recv between two
 * pinned ranks, over whatever the launcher's environment makes of them.
 */
#include <config.h>

#include "bench/mpi.h"

#include <mpi.h>

enum { TAG = 7 };

static double pingpong(struct bench_mpi *b, size_t size, unsigned long iters)
{
	int n = (int)size, other = !b->pair.rank;
	struct bench_samples samples;
	unsigned long i;

	bench_barrier(&b->pair);
	bench_samples_begin(&samples, iters);
	for (i = 0; i < iters; i++) {
		if (b->pair.rank == 0)
			MPI_Send(b->from, n, MPI_CHAR, other, TAG,
				 MPI_COMM_WORLD);
		MPI_Recv(b->to, n, MPI_CHAR, other, TAG, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (b->pair.rank == 1)
			MPI_Send(b->from, n, MPI_CHAR, other, TAG,
				 MPI_COMM_WORLD);
		bench_samples_piece(&samples);
	}
	bench_barrier(&b->pair);
	return bench_samples_median(&samples) / 2;
}

int main(int argc, char **argv)
{
	struct bench_mpi b;
	unsigned int r, i;
	unsigned long n;
	double ns;

	bench_mpi_start(&b, argc, argv, "8,1024,8192,65536,1048576");
	for (r = 0; r < b.repeats; r++) {
		for (i = 0; i < b.n_sizes; i++) {
			bench_quiet_begin();
			pingpong(&b, b.sizes[i], 20);
			ns = pingpong(&b, b.sizes[i], 50);
			n = (unsigned long)((double)b.ms * 1e6 / (2.0 * ns));
			n = bench_mpi_agree(&b, n < 10 ? 10 : n);
			bench_frame_begin(&b.pair);
			ns = pingpong(&b, b.sizes[i], n);
			bench_frame_end(&b.pair, "latency", b.name, b.sizes[i],
					ns, "ns");
			bench_quiet_end();
		}
	}
	return bench_mpi_end(&b);
}
