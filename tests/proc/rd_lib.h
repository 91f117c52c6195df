/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the rd_*.c programs share: a worker's endpoint, exchanged addresses,
 * a byte pattern that tells (seed, offset), and loops with a deadline (the
 * group's, tests/lib/mp.h).
 */
#ifndef TESTS_PROC_RD_LIB_H
#define TESTS_PROC_RD_LIB_H

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "engine/rosm.h"
#include "tests/lib/assert.h"
#include "tests/lib/mp.h"

#define RANKS_MAX	8

struct end {
	struct mp *mp;
	int rank;
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
	struct rosm_rd *rd;
	struct rosm_rd_peer *peer[RANKS_MAX];
};

/* cma: "0" makes every transfer go through shared memory. */
static inline void end_open(struct end *e, struct mp *mp, int rank,
			    const char *cma, uint32_t slots)
{
	struct rosm_rd_init init = { .slots = slots };

	memset(e, 0, sizeof(*e));
	e->mp = mp;
	e->rank = rank;
	setenv("ROSM_MOVE_CMA", cma, 1);
	CHECK_OK(rosm_ctx_open(&e->ctx));
	CHECK_OK(rosm_pd_alloc(e->ctx, &e->pd));
	CHECK_OK(rosm_rd_create(e->pd, &init, &e->rd));
}

static inline void end_meet(struct end *e)
{
	uint8_t name[ROSM_NAME_BYTES];
	int i, n = mp_size(e->mp);

	rosm_rd_name(e->rd, name);
	for (i = 0; i < n; i++)
		if (i != e->rank)
			mp_send(e->mp, i, name, sizeof(name));
	for (i = 0; i < n; i++) {
		if (i != e->rank)
			CHECK_EQ(mp_recv(e->mp, i, name, sizeof(name)),
				 sizeof(name));
		else
			rosm_rd_name(e->rd, name);
		CHECK_OK(rosm_rd_peer_get(e->rd, name, &e->peer[i]));
		rosm_rd_peer_set_cookie(e->peer[i], (uint64_t)i);
	}
}

static inline void end_close(struct end *e)
{
	CHECK_OK(rosm_rd_destroy(e->rd));
	CHECK_OK(rosm_pd_free(e->pd));
	CHECK_OK(rosm_ctx_close(e->ctx));
}

static inline void fill(uint8_t *buf, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		buf[i] = (uint8_t)(seed * 31 + i + (i >> 8) * 7);
}

static inline void check_fill(const uint8_t *buf, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != (uint8_t)(seed * 31 + i + (i >> 8) * 7))
			check_failed(__FILE__, __LINE__,
				     "message %llu of %zu bytes: byte %zu is 0x%02x",
				     (unsigned long long)seed, len, i, buf[i]);
}

/* The next event; gives the core away while there is none. */
static inline void next_event(struct end *e, struct rosm_rd_event *ev)
{
	unsigned int spins = 0;

	while (!rosm_rd_poll(e->rd, ev))
		if (++spins % 64 == 0)
			sched_yield();
}

/* 0 or PENDING; events met on the way go to handle(), NULL: none may come. */
static inline int send_retry(struct end *e, int to,
			     const struct rosm_rd_msg *msg,
			     void (*handle)(struct end *e,
					    struct rosm_rd_event *ev,
					    void *arg),
			     void *arg)
{
	struct rosm_rd_event ev;
	int rc;

	while ((rc = rosm_rd_send(e->rd, e->peer[to], msg)) == -EAGAIN) {
		if (!rosm_rd_poll(e->rd, &ev)) {
			sched_yield();
			continue;
		}
		CHECK(handle != NULL);
		handle(e, &ev, arg);
	}
	return rc;
}

/* Send and see it complete; nothing else may come. */
static inline void send_done(struct end *e, int to, void *buf, size_t len,
			     uint64_t tag, uint32_t flags)
{
	struct iovec iov = { buf, len };
	struct rosm_rd_msg msg = {
		.tag = tag,
		.flags = flags,
		.iov = &iov,
		.iov_count = 1,
		.context = buf,
	};
	struct rosm_rd_event ev;
	int rc = send_retry(e, to, &msg, NULL, NULL);

	CHECK_GE(rc, 0);
	if (!rc)
		return;
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
	CHECK_OK(ev.status);
	CHECK(ev.context == buf);
}

/* Take the payload of an EV_MSG into buf; up to size bytes. */
static inline int take_msg(struct end *e, struct rosm_rd_event *ev, void *buf,
			   size_t size)
{
	struct iovec iov = { buf, size };
	struct rosm_rd_event done;
	int rc;

	CHECK_EQ(ev->type, ROSM_RD_EV_MSG);
	if (ev->payload) {
		memcpy(buf, ev->payload, ev->len < size ? ev->len : size);
		rosm_rd_release(e->rd, ev);
		if (ev->token.xfer)
			rosm_rd_answer(e->rd, ev->peer, &ev->token, 0);
		return 0;
	}
	if (!ev->token.xfer)
		return 0;
	rc = rosm_rd_pull(e->rd, ev->peer, &ev->token, ev->len, &iov, 1, buf);
	if (rc != ROSM_RD_PENDING)
		return rc;
	next_event(e, &done);
	CHECK_EQ(done.type, ROSM_RD_EV_PULLED);
	CHECK(done.context == buf);
	return done.status;
}

#endif
