/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench/mpi_self [COUNT]: one rank sends messages of 8 bytes to itself, for
 * counting instructions: nothing is ever waited for, so all that is counted
 * belongs to the messages.
 *
 *	rosm run -- mpirun -n 1 valgrind --tool=callgrind \
 *		--toggle-collect=messages bench/mpi_self
 */
#include <config.h>

#include <mpi.h>
#include <stdlib.h>

enum { TAG = 7, BYTES = 8, WARM = 100 };

void messages(int n) __attribute__((noinline));

static void one(const char *from, char *to)
{
	MPI_Request req;

	MPI_Irecv(to, BYTES, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &req);
	MPI_Send(from, BYTES, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
}

/* What callgrind collects. */
void messages(int n)
{
	char from[BYTES] = { 0 }, to[BYTES];
	int i;

	for (i = 0; i < n; i++)
		one(from, to);
}

int main(int argc, char **argv)
{
	char from[BYTES] = { 0 }, to[BYTES];
	int i;

	MPI_Init(&argc, &argv);
	for (i = 0; i < WARM; i++)
		one(from, to);
	messages(argc > 1 ? atoi(argv[1]) : 1000);
	MPI_Finalize();
	return 0;
}
