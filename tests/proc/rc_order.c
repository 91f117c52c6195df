/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC: what waits, for how long, and in which order it comes: SQD, requests
 * behind Sends that waited, deadlines of sleepers, who runs what waits.
 */
#include <config.h>

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/qp.h"
#include "tests/lib/assert.h"
#include "tests/lib/mp.h"
#include "tests/proc/rcpair.h"

static void sync_with(struct mp *mp, int peer)
{
	char c = 1;

	mp_send(mp, peer, &c, 1);
	mp_recv(mp, peer, &c, 1);
}

static void to_state(struct rcpair *p, enum rosm_qp_state state)
{
	struct rosm_qp_attr a = { .qp_state = state };

	CHECK_EQ(rosm_qp_modify(p->qp, &a, ROSM_QP_STATE), 0);
}

static int drained(struct mp *mp, int rank, void *arg)
{
	struct rosm_qp_attr a = { .qp_state = ROSM_QPS_SQD,
				  .en_sqd_async_notify = 1 };
	struct rosm_async_event ev;
	struct rcpair p;
	struct rosm_wc wc;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		rcpair_recv(&p, 1, 0, 64);
		rcpair_recv(&p, 2, 64, 64);
		sync_with(mp, 0);
		sync_with(mp, 0);
		CHECK(!rcpair_poll(&p, &wc, 50));
		sync_with(mp, 0);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
	} else {
		CHECK_EQ(rosm_qp_modify(p.qp, &a, ROSM_QP_STATE |
					ROSM_QP_EN_SQD_ASYNC_NOTIFY), 0);
		CHECK_EQ(rosm_ctx_get_async(p.ctx, &ev), 0);
		CHECK_EQ(ev.type, ROSM_EVENT_SQ_DRAINED);
		sync_with(mp, 1);	/* it has posted both */
		rcpair_send(&p, 1, 0, 64, ROSM_SEND_SIGNALED);
		rcpair_send(&p, 2, 0, 64, ROSM_SEND_SIGNALED);
		sync_with(mp, 1);
		CHECK(!rcpair_poll(&p, &wc, 50));
		sync_with(mp, 1);
		to_state(&p, ROSM_QPS_RTS);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void sends_posted_in_sqd_wait_for_rts(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, drained, NULL), 0);
}

static int write_behind(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	int i;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	for (i = 0; i < 20; i++) {
		if (rank) {
			sync_with(mp, 0);
			/* fetches the Send that waits, polls nothing yet */
			rcpair_recv(&p, 1, 0, 64);
			sync_with(mp, 0);
			sync_with(mp, 0);
			rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
			CHECK_EQ(p.buf[5], 0x77);
			CHECK_EQ(p.buf[6], 0x11);
		} else {
			memset(p.buf, 0x11, 64);
			p.buf[100] = 0x77;
			rcpair_send(&p, 1, 0, 64, ROSM_SEND_SIGNALED);
			sync_with(mp, 1);
			sync_with(mp, 1);
			rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
			rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, 2, 100, 1, 5, 0);
			rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
			sync_with(mp, 1);
		}
	}
	rcpair_close(&p);
	return 0;
}

static void a_write_behind_a_send_that_waited_stays(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, write_behind, NULL), 0);
}

/* Two QPs of one CQ; the second one's time is up later. */
static int two_deadlines(struct mp *mp, int rank, void *arg)
{
	struct rcpair_how how[2] = { { .rnr_retry = 1, .timeout = 14 },
				     { .rnr_retry = 6, .timeout = 14 } };
	struct rosm_qp_init init = { .type = ROSM_QPT_RC,
				     .cap = { 8, 8, 1, 1, 0 },
				     .sq_sig_all = true };
	struct rcpair a, b;
	struct rosm_wc wc;
	uint32_t qpn, mine;
	void *cookie;
	int got = 0;

	(void)arg;
	rcpair_connect(&a, mp, !rank, &how[0]);
	b = a;
	init.send_cq = init.recv_cq = a.cq;
	CHECK_EQ(rosm_qp_create(a.pd, &init, &b.qp), 0);
	mine = rosm_qp_num(b.qp);
	mp_send(mp, !rank, &mine, sizeof(mine));
	mp_recv(mp, !rank, &qpn, sizeof(qpn));
	rcpair_to_rts(&b, qpn, &how[1]);
	sync_with(mp, !rank);
	if (!rank) {
		CHECK_EQ(rosm_cq_arm(a.cq, false), 0);
		rcpair_send(&a, 1, 0, 8, 0);
		rcpair_send(&b, 2, 0, 8, 0);
		while (got < 2) {
			CHECK_EQ(rosm_channel_get_event(a.channel, &cookie), 0);
			CHECK_EQ(rosm_cq_arm(a.cq, false), 0);
			while (rosm_cq_poll(a.cq, 1, &wc) == 1) {
				CHECK_EQ(wc.status, ROSM_WC_RNR_RETRY_EXC_ERR);
				CHECK_EQ(wc.wr_id, ++got);
			}
		}
	}
	sync_with(mp, !rank);
	CHECK_EQ(rosm_qp_destroy(b.qp), 0);
	rcpair_close(&a);
	return 0;
}

static void a_sleeper_learns_of_each_timeout(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, two_deadlines, NULL), 0);
}

/* The sender sleeps, the receiver makes no call after the post. */
static int asleep(struct mp *mp, int rank, void *arg)
{
	struct pollfd fd = { .events = POLLIN };
	struct rcpair p;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		sync_with(mp, 0);
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		rcpair_recv(&p, 1, 0, 64);
		sync_with(mp, 0);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
	} else {
		rcpair_send(&p, 1, 0, 64, ROSM_SEND_SIGNALED);
		CHECK_EQ(rosm_cq_arm(p.cq, false), 0);
		fd.fd = rosm_channel_fd(p.channel);
		sync_with(mp, 1);
		CHECK_EQ(poll(&fd, 1, 5000), 1);
		sync_with(mp, 1);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void a_receive_wakes_the_sender_that_waits_for_it(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, asleep, NULL), 0);
}

/* The word is held by hand: neither side may run what waits. */
static int held_word(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	struct rosm_wc wc;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		sync_with(mp, 0);
		rcpair_recv(&p, 1, 0, 64);
		CHECK(!rcpair_poll(&p, &wc, 20));
		sync_with(mp, 0);
		sync_with(mp, 0);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
	} else {
		rcpair_send(&p, 1, 0, 64, ROSM_SEND_SIGNALED);
		atomic_store(&p.qp->ctl->executor, p.qp->inst->who);
		sync_with(mp, 1);	/* it posts, and may assist */
		sync_with(mp, 1);
		CHECK(!rcpair_poll(&p, &wc, 20));
		atomic_store(&p.qp->ctl->executor, 0);
		sync_with(mp, 1);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void nobody_runs_beside_an_executor(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, held_word, NULL), 0);
}

/*
 * The first Send lies in the ring when the peer runs what waits behind it: a
 * Send, then a WRITE into the first one's buffer.
 */
static int write_by_the_peer(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		rcpair_recv(&p, 1, 0, 64);
		sync_with(mp, 0);
		sync_with(mp, 0);
		rcpair_recv(&p, 2, 64, 64);
		sync_with(mp, 0);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
		sync_with(mp, 0);
		CHECK_EQ(p.buf[5], 0x77);
		CHECK_EQ(p.buf[6], 0x11);
		CHECK_EQ(p.buf[70], 0x11);
	} else {
		sync_with(mp, 1);
		memset(p.buf, 0x11, 64);
		p.buf[100] = 0x77;
		rcpair_send(&p, 1, 0, 64, ROSM_SEND_SIGNALED);
		rcpair_send(&p, 2, 0, 64, ROSM_SEND_SIGNALED);
		rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, 3, 100, 1, 5, 0);
		sync_with(mp, 1);
		sync_with(mp, 1);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 3, ROSM_WC_SUCCESS);
		sync_with(mp, 1);
	}
	rcpair_close(&p);
	return 0;
}

static void a_write_run_by_the_peer_does_not_overtake(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, write_by_the_peer, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_posted_in_sqd_wait_for_rts),
		cmocka_unit_test(a_write_behind_a_send_that_waited_stays),
		cmocka_unit_test(a_sleeper_learns_of_each_timeout),
		cmocka_unit_test(a_receive_wakes_the_sender_that_waits_for_it),
		cmocka_unit_test(nobody_runs_beside_an_executor),
		cmocka_unit_test(a_write_run_by_the_peer_does_not_overtake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
