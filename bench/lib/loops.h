/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops that measure, to be compiled into each face with its primitives
 * known: everything here is forced inline over a constant struct bench_ops.
 */
#ifndef BENCH_LIB_LOOPS_H
#define BENCH_LIB_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/lib/face.h"

#define BENCH_INLINE	static inline __attribute__((always_inline))

/* The first member of each face's own end. */
struct bench_end {
	uint64_t sent;		/* sends whose buffer is free again */
	uint64_t received;
};

/* Each ends the process when something fails. */
struct bench_ops {
	/* Make room for one message of up to size bytes. */
	void (*post)(struct bench_end *end, size_t size);
	void (*send)(struct bench_end *end, size_t size);
	/* One poll; counts what is complete. */
	void (*poll)(struct bench_end *end);
	/* Whether the last send must be complete before the next ping. */
	int wait_sent;
};

BENCH_INLINE void bench_wait(const struct bench_ops *ops, struct bench_end *end,
			     uint64_t sent, uint64_t received)
{
	while (end->sent < sent || end->received < received)
		ops->poll(end);
}

BENCH_INLINE double bench_pingpong(const struct bench_ops *ops,
				   struct bench_end *end,
				   struct bench_pair *pair, size_t size,
				   unsigned long iters)
{
	uint64_t sent = end->sent, received = end->received;
	struct bench_samples samples;
	unsigned long i;

	ops->post(end, size);
	bench_barrier(pair);
	bench_samples_begin(&samples, iters);
	for (i = 1; i <= iters; i++) {
		if (pair->rank == 0)
			ops->send(end, size);
		bench_wait(ops, end, 0, received + i);
		if (i < iters)
			ops->post(end, size);
		if (pair->rank == 1)
			ops->send(end, size);
		if (ops->wait_sent)
			bench_wait(ops, end, sent + i, 0);
		bench_samples_piece(&samples);
	}
	bench_wait(ops, end, sent + iters, 0);
	bench_barrier(pair);
	return bench_samples_median(&samples) / 2;
}

BENCH_INLINE void bench_post_window(const struct bench_ops *ops,
				    struct bench_end *end, size_t size)
{
	int i;

	for (i = 0; i < BENCH_WINDOW; i++)
		ops->post(end, size);
}

BENCH_INLINE double bench_stream(const struct bench_ops *ops,
				 struct bench_end *end, struct bench_pair *pair,
				 size_t size, unsigned long windows,
				 int both_ways)
{
	size_t room = size > BENCH_ACK_BYTES ? size : BENCH_ACK_BYTES;
	int sends = both_ways || pair->rank == 0;
	int takes = both_ways || pair->rank == 1;
	uint64_t sent = end->sent, received = end->received;
	struct bench_samples samples;
	unsigned long w;
	int i;

	if (takes)
		bench_post_window(ops, end, room);
	if (sends)
		ops->post(end, room);
	bench_barrier(pair);
	bench_samples_begin(&samples, windows);
	for (w = 1; w <= windows; w++) {
		for (i = 0; sends && i < BENCH_WINDOW; i++)
			ops->send(end, size);
		if (takes)
			received += BENCH_WINDOW;
		if (sends)
			sent += BENCH_WINDOW;
		bench_wait(ops, end, sent, received);
		if (takes && w < windows)
			bench_post_window(ops, end, room);
		if (takes) {
			ops->send(end, BENCH_ACK_BYTES);
			sent++;
		}
		if (sends)
			received++;
		bench_wait(ops, end, sent, received);
		if (sends && w < windows)
			ops->post(end, room);
		bench_samples_piece(&samples);
	}
	bench_barrier(pair);
	return BENCH_WINDOW * (both_ways ? 2 : 1) * 1e9 /
	       bench_samples_median(&samples);
}

/* The members of struct bench_face from an ops table named ops. */
#define BENCH_LOOPS(ops)						\
	static double pingpong(void *end, struct bench_pair *pair,	\
			       size_t size, unsigned long iters)	\
	{								\
		return bench_pingpong(&(ops), end, pair, size, iters);	\
	}								\
	static double stream(void *end, struct bench_pair *pair,	\
			     size_t size, unsigned long windows,	\
			     int both_ways)				\
	{								\
		return bench_stream(&(ops), end, pair, size, windows,	\
				    both_ways);				\
	}

#endif
