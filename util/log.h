/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines: a level, a subsystem (a short literal such as "cq") and one
 * lower-case sentence. They go to standard error, one write a line, or to a
 * sink. The level comes from ROSM_LOG_LEVEL, read once. A line that is
 * switched off costs a load and a branch and does not evaluate its
 * arguments. errno is kept. Any thread.
 */
#ifndef RU_LOG_H
#define RU_LOG_H

#include <stdatomic.h>
#include <stdbool.h>

#include "util/compiler.h"

enum ru_log_level {
	RU_LOG_ERROR,
	RU_LOG_WARN,
	RU_LOG_INFO,
	RU_LOG_DEBUG,
	RU_LOG_LEVELS
};

/* Longest line handed to a sink, its NUL included; the rest is cut. */
#define RU_LOG_LINE_BYTES	512

/*
 * Takes lines instead of standard error. `level` is the highest one wanted,
 * -1 for that of ROSM_LOG_LEVEL. `write` gets the sentence without level,
 * subsystem or newline; it may be called from any thread and must not log.
 */
struct ru_log_sink {
	int level;
	void (*write)(void *ctx, enum ru_log_level level, const char *subsys,
		      const char *line);
	void *ctx;
};

/* The struct stays the caller's and must outlive its use. NULL: stderr. */
void ru_log_set_sink(const struct ru_log_sink *sink);

/* Overrides ROSM_LOG_LEVEL until ru_log_reload() reads it again. */
void ru_log_set_level(enum ru_log_level level);
void ru_log_reload(void);

const char *ru_log_level_name(enum ru_log_level level);

/* Highest level that is on; -1 until first asked. Use ru_log_on(). */
extern atomic_int ru_log_max;
bool ru_log_on_first(enum ru_log_level level);

static inline bool ru_log_on(enum ru_log_level level)
{
	int max = atomic_load_explicit(&ru_log_max, memory_order_relaxed);

	if (ru_unlikely(max < 0))
		return ru_log_on_first(level);
	return (int)level <= max;
}

void ru_log_write(enum ru_log_level level, const char *subsys,
		  const char *fmt, ...) RU_PRINTF(3, 4);

#define ru_log(level, subsys, ...)					\
	do {								\
		if (ru_unlikely(ru_log_on(level)))			\
			ru_log_write(level, subsys, __VA_ARGS__);	\
	} while (0)

#define RU_ERR(subsys, ...)	ru_log(RU_LOG_ERROR, subsys, __VA_ARGS__)
#define RU_WARN(subsys, ...)	ru_log(RU_LOG_WARN, subsys, __VA_ARGS__)
#define RU_INFO(subsys, ...)	ru_log(RU_LOG_INFO, subsys, __VA_ARGS__)
#define RU_DBG(subsys, ...)	ru_log(RU_LOG_DEBUG, subsys, __VA_ARGS__)

/* The first time this line is reached in the process. */
#define RU_WARN_ONCE(subsys, ...)					\
	do {								\
		static atomic_flag ru_once_ = ATOMIC_FLAG_INIT;		\
		if (!atomic_flag_test_and_set_explicit(			\
			    &ru_once_, memory_order_relaxed))		\
			RU_WARN(subsys, __VA_ARGS__);			\
	} while (0)

#endif
