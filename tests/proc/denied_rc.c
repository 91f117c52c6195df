/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC between processes that are kept from each other's memory, in every way
 * of denied.c that this machine allows: all sizes, both directions, both
 * ends at once; then the death of one of them.
 *
 * Built three times, once a table (DENIED_TABLE).
 */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/peer.h"
#include "engine/qp.h"
#include "tests/lib/assert.h"
#include "tests/proc/denied.h"
#include "tests/proc/denied_main.h"
#include "tests/proc/rcpair.h"

enum { MIB = 1 << 20, SOURCE = 0, TARGET = 2 * MIB, BACK = 3 * MIB - 64 };

static const uint32_t sizes[] = {
	0, 1, 8, 95, 96, 97, 1024, 1025, 4096, 4097, 16384, 65537,
	256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, MIB - 128,
};
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Polls, as a program does that waits, until the other says so. */
static void serve_until_told(struct rcpair *p, struct mp *mp, int other)
{
	struct rosm_wc wc;
	char c;

	while (mp_recv_timeout(mp, other, &c, 1, 0) == -ETIMEDOUT) {
		CHECK_EQ(rosm_cq_poll(p->cq, 1, &wc), 0);
		sched_yield();
	}
}

/* Afterwards neither polls before the other's next message can be sent. */
static void meet(struct rcpair *p, struct mp *mp, int other)
{
	char c = 0;

	mp_send(mp, other, &c, 1);
	serve_until_told(p, mp, other);
	mp_send(mp, other, &c, 1);
	mp_recv(mp, other, &c, 1);
}

/* A send and a receive, in whichever order they end. */
static void expect_both(struct rcpair *p, uint32_t i, uint32_t len)
{
	bool sent = false, got = false;
	struct rosm_wc wc;

	while (!sent || !got) {
		CHECK(rcpair_poll(p, &wc, 10000));
		CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
		if (wc.opcode == ROSM_WC_RECV) {
			CHECK(!got);
			CHECK_EQ(wc.wr_id, 1000 + i);
			CHECK_EQ(wc.byte_len, len);
			got = true;
		} else {
			CHECK(!sent);
			CHECK_EQ(wc.wr_id, i);
			sent = true;
		}
	}
}

static void sends_cross(struct rcpair *p, struct mp *mp, int rank)
{
	uint32_t i, len;

	for (i = 0; i < NSIZES; i++) {
		len = sizes[i];
		memset(p->buf + TARGET, 0xee, len + 1);
		rcpair_recv(p, 1000 + i, TARGET, len + 16);
		pattern_fill(p->buf + SOURCE, len, 2 * i + (uint32_t)rank);
		meet(p, mp, !rank);
		rcpair_send(p, i, SOURCE, len, ROSM_SEND_SIGNALED);
		expect_both(p, i, len);
		pattern_check(p->buf + TARGET, len, 2 * i + !rank);
		CHECK_EQ(p->buf[TARGET + len], 0xee);
		meet(p, mp, !rank);
	}
}

static void writes_and_reads(struct rcpair *p)
{
	uint32_t i, len;

	for (i = 0; i < NSIZES; i++) {
		len = sizes[i];
		pattern_fill(p->buf, len, 77 + i);
		rcpair_rdma(p, ROSM_WR_RDMA_WRITE, 2 * i, SOURCE, len, TARGET,
			    0);
		rcpair_expect(p, 2 * i, ROSM_WC_SUCCESS);
		memset(p->buf + BACK, 0, len);
		rcpair_rdma(p, ROSM_WR_RDMA_READ, 2 * i + 1, BACK, len, TARGET,
			    0);
		rcpair_expect(p, 2 * i + 1, ROSM_WC_SUCCESS);
		pattern_check(p->buf + BACK, len, 77 + i);
	}
}

/* Many at once, not one after the other. */
static void a_stream(struct rcpair *p, struct mp *mp, int rank)
{
	enum { N = 40, LEN = 20000 };
	uint32_t i, sent = 0, got = 0;
	struct rosm_wc wc;

	for (i = 0; i < N; i++)
		rcpair_recv(p, i, TARGET + i * LEN, LEN);
	for (i = 0; i < N; i++)
		pattern_fill(p->buf + SOURCE + i * LEN, LEN,
			     i + 100 * (uint32_t)rank);
	meet(p, mp, !rank);
	for (i = 0; i < N; i++)
		rcpair_send(p, i, SOURCE + i * LEN, LEN - i % 3 * 9000,
			    ROSM_SEND_SIGNALED);
	while (sent < N || got < N) {
		CHECK(rcpair_poll(p, &wc, 10000));
		CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
		if (wc.opcode == ROSM_WC_RECV) {
			CHECK_EQ(wc.wr_id, got);
			CHECK_EQ(wc.byte_len, LEN - got % 3 * 9000);
			pattern_check(p->buf + TARGET + got * LEN, wc.byte_len,
				      got + 100 * (uint32_t)!rank);
			got++;
		} else {
			CHECK_EQ(wc.wr_id, sent++);
		}
	}
	meet(p, mp, !rank);
}

static int data(struct mp *mp, int rank, const struct denied_case *c)
{
	struct rcpair p;
	struct rosm_peer *peer;

	denied_watch_lines();
	rcpair_connect(&p, mp, !rank, NULL);
	meet(&p, mp, !rank);
	sends_cross(&p, mp, rank);
	a_stream(&p, mp, rank);
	if (rank)
		serve_until_told(&p, mp, 0);
	writes_and_reads(&p);
	mp_send(mp, !rank, "", 1);
	if (!rank)
		serve_until_told(&p, mp, 1);
	peer = p.qp->conn.dst;
	CHECK(peer != NULL);
	if (denied_all(c)) {
		CHECK_EQ(peer->stat->tx_ops[ROSM_MOVER_CMA], 0);
		CHECK_EQ(peer->stat->rx_ops[ROSM_MOVER_CMA], 0);
		CHECK_GT(peer->stat->tx_ops[ROSM_MOVER_BOUNCE], 0);
	}
	meet(&p, mp, !rank);
	denied_check_lines(rank, c);
	rcpair_close(&p);
	return 0;
}

/* Both sleep whenever a poll finds nothing; one send in eight is signaled. */
static int sleepers(struct mp *mp, int rank, const struct denied_case *c)
{
	enum { N = 48, LEN = 65536 };
	const struct rcpair_how how = { .rnr_retry = 7, .timeout = 14,
					.sig_all_off = true };
	struct rcpair p;
	struct rosm_wc wc;
	uint32_t i, left;
	void *cookie;

	(void)c;
	rcpair_connect(&p, mp, !rank, &how);
	meet(&p, mp, !rank);
	CHECK_EQ(rosm_cq_arm(p.cq, false), 0);
	for (i = 0; rank && i < N; i++)
		rcpair_recv(&p, i, i % 32 * LEN, LEN);
	mp_send(mp, !rank, "", 1);
	mp_recv(mp, !rank, &(char){ 0 }, 1);
	for (i = 0; !rank && i < N; i++)
		rcpair_send(&p, i, i % 32 * LEN, LEN - i,
			    i % 8 == 7 ? ROSM_SEND_SIGNALED : 0);
	left = rank ? N : N / 8;
	while (left) {
		CHECK_EQ(rosm_channel_get_event(p.channel, &cookie), 0);
		CHECK_EQ(rosm_cq_arm(p.cq, false), 0);
		while (rosm_cq_poll(p.cq, 1, &wc)) {
			CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, rank ? N - left :
						  8 * (N / 8 - left) + 7);
			left--;
		}
	}
	mp_send(mp, !rank, "", 1);
	mp_recv(mp, !rank, &(char){ 0 }, 1);
	rcpair_close(&p);
	return 0;
}

/* The target makes no call: the WRITE waits, one line says so, no more. */
static int silent_target(struct mp *mp, int rank, const struct denied_case *c)
{
	struct rcpair p;
	struct rosm_wc wc;
	char b;
	int i;

	(void)c;
	denied_watch_lines();
	rcpair_connect(&p, mp, !rank, NULL);
	meet(&p, mp, !rank);
	for (i = 0; i < 2; i++) {
		if (rank) {
			mp_recv(mp, 0, &b, 1);
			serve_until_told(&p, mp, 0);
			continue;
		}
		pattern_fill(p.buf, 65536, 5);
		rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, 1, SOURCE, 65536, TARGET,
			    0);
		CHECK(!rcpair_poll(&p, &wc, 1200));
		CHECK_EQ(denied_lines_with("makes no call"), 1);
		mp_send(mp, 1, "", 1);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		mp_send(mp, 1, "", 1);
	}
	meet(&p, mp, !rank);
	rcpair_close(&p);
	return 0;
}

/*
 * Whatever is open ends in an error, and soon. Without pidfds nothing makes
 * the descriptor readable: then the sleep must be rosm's own.
 */
static void survive(struct rcpair *p, struct mp *mp, bool sleeps, bool blind)
{
	struct pollfd pfd = { .fd = rosm_channel_fd(p->channel),
			      .events = POLLIN };
	uint64_t end;
	struct rosm_wc wc;
	unsigned int n = 0;
	void *cookie;
	char c;

	CHECK_EQ(rosm_cq_arm(p->cq, false), 0);
	CHECK_EQ(mp_recv(mp, MP_PARENT, &c, 1), 1);	/* it is killed now */
	end = mp_now_ns() + 2000000000u * denied_slower();
	while (n < 2) {
		if (sleeps && !rosm_cq_poll(p->cq, 1, &wc)) {
			if (!blind)
				CHECK_EQ(poll(&pfd, 1, (int)denied_slower() *
							       2000), 1);
			CHECK_EQ(rosm_channel_get_event(p->channel, &cookie),
				 0);
			CHECK_EQ(rosm_cq_arm(p->cq, false), 0);
			continue;
		}
		if (!sleeps && !rosm_cq_poll(p->cq, 1, &wc)) {
			CHECK_LT(mp_now_ns(), end);
			continue;
		}
		if (wc.wr_id == 1)
			CHECK_EQ(wc.status, ROSM_WC_RETRY_EXC_ERR);
		else
			CHECK_EQ(wc.status, ROSM_WC_WR_FLUSH_ERR);
		n++;
	}
	CHECK_LT(mp_now_ns(), end);
}

static int death_met(struct mp *mp, int rank, const struct denied_case *c,
		     bool sleeps)
{
	struct rcpair p;

	rcpair_connect(&p, mp, !rank, NULL);
	meet(&p, mp, !rank);
	if (rank) {
		/* some of what it was sent is under way */
		rcpair_recv(&p, 9, TARGET, MIB);
		mp_send(mp, 0, "", 1);
		rcpair_expect(&p, 9, ROSM_WC_SUCCESS);
		serve_until_told(&p, mp, 0);
		mp_send(mp, MP_PARENT, "", 1);
		for (;;)
			sched_yield();
	}
	rcpair_recv(&p, 2, TARGET, 64);
	mp_recv(mp, 1, &(char){ 0 }, 1);
	rcpair_send(&p, 3, SOURCE, MIB, ROSM_SEND_SIGNALED);
	rcpair_expect(&p, 3, ROSM_WC_SUCCESS);
	rcpair_send(&p, 1, SOURCE, MIB, ROSM_SEND_SIGNALED);	/* no RECV */
	mp_send(mp, 1, "", 1);
	survive(&p, mp, sleeps, c->how[0] & DENIED_PIDFD);
	rcpair_close(&p);
	return 0;
}

static int death_polled(struct mp *mp, int rank, const struct denied_case *c)
{
	return death_met(mp, rank, c, false);
}

static int death_slept(struct mp *mp, int rank, const struct denied_case *c)
{
	return death_met(mp, rank, c, true);
}

static void data_arrives_whole_both_ways(void **state)
{
	DENIED_EACH(state, data);
}

static void a_death_ends_what_is_open(void **state)
{
	DENIED_EACH(state, death_polled);
}

static void a_death_wakes_a_sleeper(void **state)
{
	DENIED_EACH(state, death_slept);
}

static void sleepers_wake_each_other(void **state)
{
	DENIED_EACH(state, sleepers);
}

static void a_write_that_waits_for_calls_says_so(void **state)
{
	(void)state;
	assert_int_equal(denied_run(&denied_plain[1], silent_target), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_arrives_whole_both_ways),
		cmocka_unit_test(sleepers_wake_each_other),
		cmocka_unit_test(a_write_that_waits_for_calls_says_so),
		cmocka_unit_test(a_death_ends_what_is_open),
		cmocka_unit_test(a_death_wakes_a_sleeper),
	};

	return denied_main(argc, argv) ? 77 :
		cmocka_run_group_tests(tests, NULL, NULL);
}
