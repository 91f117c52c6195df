/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bandwidth and message rate are one loop, read in two units.
 */
#ifndef BENCH_LIB_STREAM_H
#define BENCH_LIB_STREAM_H

#include <stddef.h>

/* what_both: the measurement's name with -b. value: from messages a second. */
int bench_stream_main(int argc, char **argv, const char *what,
		      const char *what_both, const char *sizes,
		      double (*value)(double per_s, size_t size),
		      const char *unit);

#endif
