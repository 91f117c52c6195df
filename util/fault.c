/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults on demand: see fault.h. ROSM_FAULT is parsed at the first passage
 * of any point into a small table that is constant from then on; only its
 * counters change. ru_fault_reload() is for tests with one thread.
 */
#include <config.h>

#include "util/fault.h"

#ifndef ROSM_FAULT

bool ru_fault_enabled(void)
{
	return false;
}

int ru_fault_each(int (*fn)(void *ctx, const struct ru_fault_point *point),
		  void *ctx)
{
	(void)fn;
	(void)ctx;
	return 0;
}

void ru_fault_reload(void)
{
}

#else

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/env.h"
#include "util/lock.h"
#include "util/log.h"

#define MAX_ARMED	16
#define NAME_BYTES	48

struct armed {
	char name[NAME_BYTES];
	enum ru_fault_kind kind;
	unsigned long nth;
	bool and_later;
	atomic_ulong passed;
};

/* Set by the linker; null when no point is linked in. */
extern const struct ru_fault_point *const __start_rosm_faults[]
	__attribute__((weak, visibility("hidden")));
extern const struct ru_fault_point *const __stop_rosm_faults[]
	__attribute__((weak, visibility("hidden")));

atomic_int ru_fault_state = RU_FAULT_UNREAD;

static struct ru_lock read_lock = RU_LOCK_INITIALIZER;
static struct armed armed[MAX_ARMED];
static size_t armed_count;

bool ru_fault_enabled(void)
{
	return true;
}

static bool is_first_of_name(const struct ru_fault_point *const *at)
{
	const struct ru_fault_point *const *p;

	for (p = __start_rosm_faults; p < at; p++)
		if ((*p)->kind == (*at)->kind &&
		    !strcmp((*p)->name, (*at)->name))
			return false;
	return true;
}

int ru_fault_each(int (*fn)(void *ctx, const struct ru_fault_point *point),
		  void *ctx)
{
	const struct ru_fault_point *const *p;
	int rc;

	for (p = __start_rosm_faults; p < __stop_rosm_faults; p++) {
		if (!is_first_of_name(p))
			continue;
		rc = fn(ctx, *p);
		if (rc)
			return rc;
	}
	return 0;
}

/* "kill:ring.claimed:3", "fail:shm.commit:2+". 0 or -EINVAL. */
static int parse_entry(const char *text, size_t len, struct armed *a)
{
	const char *name, *colon, *end = text + len;

	if (len > 5 && !memcmp(text, "kill:", 5))
		a->kind = RU_FAULT_KILL;
	else if (len > 5 && !memcmp(text, "fail:", 5))
		a->kind = RU_FAULT_FAIL;
	else
		return -EINVAL;
	name = text + 5;
	a->nth = 1;
	a->and_later = false;
	atomic_init(&a->passed, 0);
	colon = memchr(name, ':', (size_t)(end - name));
	if (colon) {
		char *after;

		a->nth = strtoul(colon + 1, &after, 10);
		if (after == colon + 1 || !a->nth)
			return -EINVAL;
		if (after < end && *after == '+') {
			a->and_later = true;
			after++;
		}
		if (after != end)
			return -EINVAL;
		end = colon;
	}
	if (end == name || (size_t)(end - name) >= NAME_BYTES)
		return -EINVAL;
	memcpy(a->name, name, (size_t)(end - name));
	a->name[end - name] = '\0';
	return 0;
}

static void read_locked(void)
{
	const char *text = ru_param_str("ROSM_FAULT");

	armed_count = 0;
	while (*text) {
		size_t len = strcspn(text, ",");

		if (armed_count == MAX_ARMED ||
		    parse_entry(text, len, &armed[armed_count]))
			RU_WARN("fault", "ROSM_FAULT: \"%.*s\" is not armed",
				(int)len, text);
		else
			armed_count++;
		text += len;
		text += *text == ',';
	}
	atomic_store_explicit(&ru_fault_state,
			      armed_count ? RU_FAULT_ARMED : RU_FAULT_IDLE,
			      memory_order_release);
}

void ru_fault_reload(void)
{
	ru_lock_acquire(&read_lock);
	read_locked();
	ru_lock_release(&read_lock);
}

static void read_once(void)
{
	ru_lock_acquire(&read_lock);
	if (atomic_load_explicit(&ru_fault_state, memory_order_relaxed) ==
	    RU_FAULT_UNREAD)
		read_locked();
	ru_lock_release(&read_lock);
}

static bool passes(struct armed *a)
{
	unsigned long n = 1 + atomic_fetch_add_explicit(&a->passed, 1,
							memory_order_relaxed);

	return n == a->nth || (a->and_later && n > a->nth);
}

bool ru_fault_hit(const struct ru_fault_point *point)
{
	bool hit = false;
	size_t i;

	if (atomic_load_explicit(&ru_fault_state, memory_order_acquire) ==
	    RU_FAULT_UNREAD)
		read_once();
	for (i = 0; i < armed_count; i++)
		if (armed[i].kind == point->kind &&
		    !strcmp(armed[i].name, point->name))
			hit |= passes(&armed[i]);
	if (hit && point->kind == RU_FAULT_KILL) {
		kill(getpid(), SIGKILL);
		for (;;)
			pause();
	}
	return hit;
}

#endif
