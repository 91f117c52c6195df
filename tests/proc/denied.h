/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the denied_*.c programs share: ways to keep two processes from each
 * other's memory and /proc, the tables of their combinations, and the count
 * of the lines that say so.
 */
#ifndef TESTS_PROC_DENIED_H
#define TESTS_PROC_DENIED_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lib/mp.h"

enum denied_how {
	DENIED_READV = 1 << 0,		/* process_vm_readv, by seccomp */
	DENIED_WRITEV = 1 << 1,
	DENIED_PIDFD = 1 << 2,		/* pidfd_open and SO_PEERPIDFD */
	DENIED_DUMP = 1 << 3,		/* PR_SET_DUMPABLE 0 */
	DENIED_USER = 1 << 4,		/* a user namespace, own id mapped */
	DENIED_USER_BARE = 1 << 5,	/* likewise, nothing mapped */
	DENIED_PID = 1 << 6,		/* a pid namespace */
	DENIED_JOIN = 1 << 7,		/* enter rank 0's namespaces first */
	DENIED_NET = 1 << 8,		/* a network namespace */
	DENIED_PEERPIDFD = 1 << 9,	/* SO_PEERPIDFD alone: Linux < 6.5 */
	DENIED_USER_ROOT = 1 << 10,	/* a user namespace, own id is 0 there */
};
#define DENIED_CMA	(DENIED_READV | DENIED_WRITEV)

/* Lines that a rank must write: one for each direction that is shut to it. */
enum { SAYS_READ = 1, SAYS_WRITE = 2, SAYS_BOTH = 3 };

struct denied_case {
	const char *name;
	uint32_t how[2];		/* of rank 0 and rank 1 */
	uint8_t says[2];
	int err;			/* what the filter answers */
};

extern const struct denied_case denied_plain[];
extern const unsigned int denied_plain_count;
extern const struct denied_case denied_user[];
extern const unsigned int denied_user_count;
extern const struct denied_case denied_pid[];
extern const unsigned int denied_pid_count;
/* Both ways are shut; says: whether a line tells so. */
extern const struct denied_case denied_refused[];
extern const unsigned int denied_refused_count;

/* What a worker does once it is shut in as its rank's side says. */
typedef int (*denied_fn)(struct mp *mp, int rank,
			 const struct denied_case *c);

/* Run a case in two workers; rank 1 may end by SIGKILL. 0 or -1. */
int denied_run(const struct denied_case *c, denied_fn fn);

/* Kills the worker of that rank, whatever namespace it is in. */
void denied_kill(struct mp *mp, int rank);

/* NULL, or why these cases cannot be made here. */
const char *denied_no_user(void);
const char *denied_no_pid(void);
const char *denied_no_any(void);

/*
 * From now on the lines of this process at level info are looked at;
 * denied_check_lines(): those that tell of shared memory are as the case
 * says, one each.
 */
void denied_watch_lines(void);
void denied_check_lines(int rank, const struct denied_case *c);
unsigned int denied_lines_with(const char *words);
/* One line of refusal where the case says so, and no warning besides. */
void denied_check_refusal(int rank, const struct denied_case *c);

/* Whether nothing can be copied directly, by either side. */
bool denied_all(const struct denied_case *c);

/* Can this user be kept from the other in just this way? */
bool denied_possible(const struct denied_case *c);

#endif
