/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A face: one way for two processes to exchange messages. Each of the
 * face_*.c files fills a struct bench_ops with four primitives and gets the
 * loops of loops.h compiled over them, without an indirect call in a loop.
 */
#ifndef BENCH_LIB_FACE_H
#define BENCH_LIB_FACE_H

#include <stddef.h>

#include "bench/lib/pair.h"

enum { BENCH_WINDOW = 64, BENCH_ACK_BYTES = 4 };

struct bench_face {
	const char *name;
	const char *help;
	/* Both ranks: connects; buffers of max_bytes. provider: may be NULL. */
	void *(*open)(struct bench_pair *pair, size_t max_bytes,
		      const char *provider);
	/* Half the round trip, in ns. */
	double (*pingpong)(void *end, struct bench_pair *pair, size_t size,
			   unsigned long iters);
	/*
	 * Windows of BENCH_WINDOW messages, each answered by a short one, from
	 * rank 0 to rank 1 or both ways at once. Messages a second, of all
	 * directions together.
	 */
	double (*stream)(void *end, struct bench_pair *pair, size_t size,
			 unsigned long windows, int both_ways);
	void (*close)(void *end);
};

extern const struct bench_face bench_face_engine_rc;
extern const struct bench_face bench_face_engine_rd;
extern const struct bench_face bench_face_verbs;
extern const struct bench_face bench_face_fabric;

extern const struct bench_face *const bench_faces[];

/* What the three programs have in common: their options and the loop. */
struct bench_args {
	const struct bench_face *face;
	const char *provider;	/* of libfabric, -p */
	size_t sizes[32];	/* -s 8,1024,... */
	unsigned int n_sizes;
	unsigned long ms;	/* -t: about as long a measurement */
	unsigned int repeats;	/* -r: of all sizes */
	int both_ways;		/* -b */
};

void bench_args_parse(struct bench_args *args, int argc, char **argv,
		      const char *default_sizes);
size_t bench_args_max(const struct bench_args *args);
/* "fabric" becomes "fabric:PROVIDER" */
const char *bench_args_name(const struct bench_args *args);

#endif
