/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One role of a script in its process: what has come (trace.c) and the steps
 * (role.c). Nothing here is shared between processes but the trace.
 */
#ifndef TESTS_CONFORM_ROLE_H
#define TESTS_CONFORM_ROLE_H

#include "tests/conform/face.h"

enum {
	TRACE_BYTES = 64 << 10,
	STASH = 256,
	TAKE_US = 10 * 1000 * 1000,
	NONE_MS = 30,
};

struct trace {
	size_t len;
	char text[TRACE_BYTES];
};

struct role {
	struct end end;
	const struct script *script;
	const struct face *face;
	const struct step *step;	/* being done */
	struct trace *trace;
	struct op op[QUEUES][ID_MAX];	/* last post of each id */
	struct comp stash[QUEUES][STASH];
	unsigned int head[QUEUES], tail[QUEUES];
	bool dead[ROLES_MAX];		/* as the script has it */
};

/* The whole of a script, for one role; ends the process if it goes wrong. */
void role_play(struct role *r);

/* "EINVAL" and the like; an unknown name ends the process. */
int errno_of(const char *name, size_t len);

/* ---- trace.c -------------------------------------------------------- */

_Noreturn void fail(const struct role *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void say(struct role *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Byte i of a pattern. */
uint8_t pattern(uint64_t i, uint64_t seed);
void fill(struct role *r, const struct op *op);
void check_pattern(const struct role *r, const struct op *op, uint64_t from,
		   uint64_t len, uint64_t seed);
/* Of [from, from + len) of the operation's bytes. */
uint32_t sum(const struct role *r, const struct op *op, uint64_t from,
	     uint64_t len);

/* Take what the face has into the stash; true if something came. */
bool pump(struct role *r);
bool waits(const struct role *r, enum queue q);
/* The next of a queue, waited for. */
void take_one(struct role *r, enum queue q, struct comp *c);
void say_comp(struct role *r, const struct comp *c, const char *note);
void do_take(struct role *r);

#endif
