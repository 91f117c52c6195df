/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines: see log.h. ru_log_max is the one word that callers test; it is
 * derived from the base level (ROSM_LOG_LEVEL or set by a call) and from the
 * sink's wish whenever one of them changes, under `set_lock`. Writing takes
 * no lock: a line is one write().
 */
#include <config.h>

#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/env.h"
#include "util/lock.h"

atomic_int ru_log_max = -1;

static struct ru_lock set_lock = RU_LOCK_INITIALIZER;
static int base_level = -1;
static _Atomic(const struct ru_log_sink *) current_sink;

static const char *const level_names[] = {
	[RU_LOG_ERROR] = "error",
	[RU_LOG_WARN] = "warn",
	[RU_LOG_INFO] = "info",
	[RU_LOG_DEBUG] = "debug",
};
_Static_assert(RU_ARRAY_SIZE(level_names) == RU_LOG_LEVELS, "a name each");

const char *ru_log_level_name(enum ru_log_level level)
{
	return (unsigned int)level < RU_LOG_LEVELS ? level_names[level] : "?";
}

static void derive_max_locked(void)
{
	const struct ru_log_sink *sink = atomic_load(&current_sink);
	int max = base_level;

	if (sink && sink->level >= 0)
		max = sink->level;
	atomic_store_explicit(&ru_log_max, max, memory_order_relaxed);
}

static void read_base_locked(void)
{
	/* A bad value logs a warning: that line must not come back here. */
	atomic_store_explicit(&ru_log_max, RU_LOG_WARN, memory_order_relaxed);
	base_level = ru_param_enum("ROSM_LOG_LEVEL");
}

bool ru_log_on_first(enum ru_log_level level)
{
	ru_lock_acquire(&set_lock);
	if (base_level < 0)
		read_base_locked();
	derive_max_locked();
	ru_lock_release(&set_lock);
	return (int)level <= atomic_load_explicit(&ru_log_max,
						  memory_order_relaxed);
}

void ru_log_set_level(enum ru_log_level level)
{
	ru_lock_acquire(&set_lock);
	base_level = (int)level;
	derive_max_locked();
	ru_lock_release(&set_lock);
}

void ru_log_reload(void)
{
	ru_lock_acquire(&set_lock);
	read_base_locked();
	derive_max_locked();
	ru_lock_release(&set_lock);
}

void ru_log_set_sink(const struct ru_log_sink *sink)
{
	ru_lock_acquire(&set_lock);
	atomic_store(&current_sink, sink);
	if (base_level < 0)
		read_base_locked();
	derive_max_locked();
	ru_lock_release(&set_lock);
}

static void write_stderr(enum ru_log_level level, const char *subsys,
			 const char *sentence)
{
	char line[RU_LOG_LINE_BYTES + 64];
	size_t len;
	int n;

	n = snprintf(line, sizeof(line) - 1, "rosm[%d] %s: %s: %s",
		     (int)getpid(), ru_log_level_name(level), subsys,
		     sentence);
	if (n < 0)
		return;
	len = ru_min((size_t)n, sizeof(line) - 2);
	line[len++] = '\n';
	while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR)
		;
}

void ru_log_write(enum ru_log_level level, const char *subsys,
		  const char *fmt, ...)
{
	const struct ru_log_sink *sink;
	char sentence[RU_LOG_LINE_BYTES];
	int saved = errno;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	if (n < 0)
		sentence[0] = '\0';
	sink = atomic_load_explicit(&current_sink, memory_order_acquire);
	if (sink)
		sink->write(sink->ctx, level, subsys, sentence);
	else
		write_stderr(level, subsys, sentence);
	errno = saved;
}
