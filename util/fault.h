/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults on demand, compiled in by --enable-fault only (ROSM_FAULT in
 * config.h, which must be included first).
 *
 *	RU_KILL_POINT("ring.claimed");
 *	if (RU_FAIL_POINT("shm.commit"))
 *		return -ENOMEM;
 *
 * The environment variable ROSM_FAULT arms them, one or more separated by
 * commas:
 *
 *	kill:NAME[:N]	SIGKILL to this process at the Nth passage (1)
 *	fail:NAME[:N]	the Nth call fails, the others do not
 *	fail:NAME[:N+]	the Nth and all later ones fail
 *
 * Passages are counted per entry, over all places of that name. Each point
 * is listed in the section rosm_faults.
 */
#ifndef RU_FAULT_H
#define RU_FAULT_H

#include <stdbool.h>

#include "util/compiler.h"

enum ru_fault_kind {
	RU_FAULT_KILL,
	RU_FAULT_FAIL,
};

struct ru_fault_point {
	const char *name;
	const char *file;
	int line;
	enum ru_fault_kind kind;
};

/* False in a build without --enable-fault, where the rest does nothing. */
bool ru_fault_enabled(void);

/*
 * Calls fn for each point of this library or program, each name of a kind
 * once; stops when fn returns non-zero and returns that. In no order.
 */
int ru_fault_each(int (*fn)(void *ctx, const struct ru_fault_point *point),
		  void *ctx);

/* Reads ROSM_FAULT again and starts counting anew. */
void ru_fault_reload(void);

#ifdef ROSM_FAULT

#include <stdatomic.h>

enum ru_fault_state {
	RU_FAULT_UNREAD,	/* ROSM_FAULT was not read yet */
	RU_FAULT_IDLE,
	RU_FAULT_ARMED,
};

extern atomic_int ru_fault_state;

/* True when an armed entry matches this passage; does not return on kill. */
bool ru_fault_hit(const struct ru_fault_point *point);

#define RU_FAULT_PASS_(name_, kind_)					\
	(__extension__({						\
		static const struct ru_fault_point ru_point_ = {	\
			name_, __FILE__, __LINE__, kind_ };		\
		static const struct ru_fault_point *const ru_listed_	\
			__attribute__((section("rosm_faults"), used)) =	\
			&ru_point_;					\
		ru_unlikely(atomic_load_explicit(&ru_fault_state,	\
				memory_order_relaxed) !=		\
			    RU_FAULT_IDLE) &&				\
			ru_fault_hit(&ru_point_);			\
	}))

#define RU_KILL_POINT(name)	((void)RU_FAULT_PASS_(name, RU_FAULT_KILL))
#define RU_FAIL_POINT(name)	RU_FAULT_PASS_(name, RU_FAULT_FAIL)

#else

#define RU_KILL_POINT(name)	((void)0)
#define RU_FAIL_POINT(name)	false

#endif
#endif
