/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multi-process tests: N forked workers under one deadline.
 *
 *	static int worker(struct mp *mp, int rank, void *arg) { ... return 0; }
 *
 *	assert_int_equal(mp_run(2, worker, NULL), 0);
 *
 * or, when the test itself takes part: mp_start(), then any call below, then
 * mp_finish(). Each started group has a private, empty ROSM_DIR, which is
 * removed by mp_finish() and also when the program ends in another way. A
 * worker fails by returning non-zero, by a CHECK of tests/lib/assert.h or by a
 * signal that nobody announced; the others are then killed and mp_finish()
 * returns -1. When the deadline passes, who still runs is named, all are
 * killed and the test program ends with status 1. Workers also die with the
 * test program. Only one group exists at a time.
 *
 * Rank MP_PARENT is the test program itself. Calls that say "any" can be made
 * by it and by workers; the others by it alone. Errors of the helper itself
 * end the calling process like a failed CHECK.
 */
#ifndef TESTS_LIB_MP_H
#define TESTS_LIB_MP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MP_PARENT = -1, MP_MAX = 32, MP_DEADLINE_S = 30 };

struct mp;
typedef int (*mp_fn)(struct mp *mp, int rank, void *arg);

/* Start n workers and wait for all; 0 if each returned 0, else -1. */
int mp_run(int n, mp_fn fn, void *arg);

/* Start n workers (1..MP_MAX). */
struct mp *mp_start(int n, mp_fn fn, void *arg);

/* Wait for all that mp_wait() has not; frees mp. 0, or -1 if one failed. */
int mp_finish(struct mp *mp);

/* The deadline becomes seconds from now. */
void mp_deadline(struct mp *mp, unsigned seconds);

/*
 * Wait for one worker's end. Returns its status as waitpid() gives it; to
 * judge it is then the caller's business, not mp_finish()'s.
 */
int mp_wait(struct mp *mp, int rank);

/* How long the long form of a test is to last: ROSM_SOAK; 0 in `make check`. */
unsigned mp_soak_s(void);

/* Any: the group's size, a worker's pid and the private ROSM_DIR. */
int mp_size(const struct mp *mp);
pid_t mp_pid(const struct mp *mp, int rank);
const char *mp_dir(const struct mp *mp);

/* Any: blobs between two ranks, in order for each pair and direction. */
void mp_send(struct mp *mp, int to, const void *buf, size_t len);
/* Returns the length; a blob longer than size is an error. */
size_t mp_recv(struct mp *mp, int from, void *buf, size_t size);
/* As mp_recv(), but -EPIPE if the other has ended, -ETIMEDOUT after ms. */
ssize_t mp_recv_timeout(struct mp *mp, int from, void *buf, size_t size,
			int timeout_ms);

/* Workers: returns when each worker of the group has called it. */
void mp_barrier(struct mp *mp);

/* Any: SIGKILL, which is then no failure; the end is not waited for. */
void mp_kill(struct mp *mp, int rank);
/* Any: this worker will end by this signal, or it is a failure. */
void mp_expect_signal(struct mp *mp, int rank, int sig);
/* Any: SIGSTOP, returns when the worker is stopped; SIGCONT. */
void mp_stop(struct mp *mp, int rank);
void mp_cont(struct mp *mp, int rank);

/* Any: CLOCK_MONOTONIC. */
uint64_t mp_now_ns(void);

#endif
