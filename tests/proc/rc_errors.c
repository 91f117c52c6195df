/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC between two processes: what each side learns of an error. Statuses as
 * IBTA 9.9 and 10.10 give them; rank 0 requests, rank 1 responds.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/assert.h"
#include "tests/lib/mp.h"
#include "engine/ctx.h"
#include "engine/qp.h"
#include "tests/proc/base.h"
#include "tests/proc/rcpair.h"

struct fault {
	const char *name;
	enum rosm_wr_opcode op;
	int rkey_off;			/* added to the rkey */
	uint32_t remote_off;
	uint32_t len;
	uint32_t recv_len;		/* 0: no RECV */
	int lkey_off;
	int recv_dereg;
	uint32_t access;		/* of the responder's QP, 0: all */
	int no_rd_atomic;
	enum rosm_wc_status requester;
	int responder;			/* status of its RECV, -1: flushed */
	int event;			/* at the responder, -1: none */
};

static const struct fault faults[] = {
	{ .name = "write, unknown rkey", .op = ROSM_WR_RDMA_WRITE,
	  .rkey_off = 1, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_REM_ACCESS_ERR, .responder = -1,
	  .event = ROSM_EVENT_QP_ACCESS_ERR },
	{ .name = "read, unknown rkey", .op = ROSM_WR_RDMA_READ,
	  .rkey_off = 256, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_REM_ACCESS_ERR, .responder = -1,
	  .event = ROSM_EVENT_QP_ACCESS_ERR },
	{ .name = "write past the region", .op = ROSM_WR_RDMA_WRITE,
	  .remote_off = RC_BUF_BYTES - 4, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_REM_ACCESS_ERR, .responder = -1,
	  .event = ROSM_EVENT_QP_ACCESS_ERR },
	{ .name = "write to a QP without the right", .op = ROSM_WR_RDMA_WRITE,
	  .access = ROSM_ACCESS_REMOTE_READ, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_REM_ACCESS_ERR, .responder = -1,
	  .event = ROSM_EVENT_QP_ACCESS_ERR },
	{ .name = "read with no resources for reads", .op = ROSM_WR_RDMA_READ,
	  .no_rd_atomic = 1, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_REM_INV_REQ_ERR, .responder = -1,
	  .event = ROSM_EVENT_QP_REQ_ERR },
	{ .name = "send with an unknown lkey", .op = ROSM_WR_SEND,
	  .lkey_off = 1, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_LOC_PROT_ERR, .responder = -2, .event = -1 },
	{ .name = "write with bad keys on both ends", .op = ROSM_WR_RDMA_WRITE,
	  .lkey_off = 1, .rkey_off = 1, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_LOC_PROT_ERR, .responder = -2, .event = -1 },
	{ .name = "read with bad keys on both ends", .op = ROSM_WR_RDMA_READ,
	  .lkey_off = 1, .rkey_off = 1, .len = 8, .recv_len = 8,
	  .requester = ROSM_WC_REM_ACCESS_ERR, .responder = -1,
	  .event = ROSM_EVENT_QP_ACCESS_ERR },
	{ .name = "small send into a smaller RECV", .op = ROSM_WR_SEND,
	  .len = 64, .recv_len = 32,
	  .requester = ROSM_WC_REM_INV_REQ_ERR,
	  .responder = ROSM_WC_LOC_LEN_ERR, .event = -1 },
	{ .name = "large send into a smaller RECV", .op = ROSM_WR_SEND,
	  .len = 100000, .recv_len = 99999,
	  .requester = ROSM_WC_REM_INV_REQ_ERR,
	  .responder = ROSM_WC_LOC_LEN_ERR, .event = -1 },
	{ .name = "small send into deregistered memory", .op = ROSM_WR_SEND,
	  .len = 8, .recv_len = 32, .recv_dereg = 1,
	  .requester = ROSM_WC_REM_OP_ERR,
	  .responder = ROSM_WC_LOC_PROT_ERR, .event = -1 },
	{ .name = "large send into deregistered memory", .op = ROSM_WR_SEND,
	  .len = 50000, .recv_len = 60000, .recv_dereg = 1,
	  .requester = ROSM_WC_REM_OP_ERR,
	  .responder = ROSM_WC_LOC_PROT_ERR, .event = -1 },
};

static void sync_with(struct mp *mp, int peer)
{
	char c = 1;

	mp_send(mp, peer, &c, 1);
	mp_recv(mp, peer, &c, 1);
}

static void requester(struct rcpair *p, struct mp *mp, const struct fault *f)
{
	struct rosm_sge sge = { (uint64_t)(uintptr_t)p->buf, f->len,
				rosm_mr_lkey(p->mr) + (uint32_t)f->lkey_off };
	struct rosm_send_wr wr = {
		.wr_id = 1,
		.opcode = f->op,
		.sg_list = &sge,
		.num_sge = 1,
		.remote_addr = p->other.addr + f->remote_off,
		.rkey = p->other.rkey + (uint32_t)f->rkey_off,
	};

	sync_with(mp, 1);
	/* unsignaled: the first error is reported all the same */
	CHECK_EQ(rosm_qp_post_send(p->qp, &wr), 0);
	rcpair_send(p, 2, 0, 8, 0);
	rcpair_send(p, 3, 0, 8, ROSM_SEND_SIGNALED);
	rcpair_expect(p, 1, f->requester);
	rcpair_expect(p, 2, ROSM_WC_WR_FLUSH_ERR);
	rcpair_expect(p, 3, ROSM_WC_WR_FLUSH_ERR);
	CHECK_EQ(rosm_qp_state(p->qp), ROSM_QPS_ERR);
	rcpair_recv(p, 4, 0, 8);
	rcpair_expect(p, 4, ROSM_WC_WR_FLUSH_ERR);
	sync_with(mp, 1);
}

static void responder(struct rcpair *p, struct mp *mp, const struct fault *f)
{
	struct rosm_async_event ev;
	struct rosm_sge sge = { (uint64_t)(uintptr_t)p->buf, f->recv_len, 0 };
	struct rosm_recv_wr wr = { 10, &sge, 1 };
	struct rosm_mr *own;
	struct rosm_wc wc;

	CHECK_EQ(rosm_mr_reg(p->pd, p->buf, RC_BUF_BYTES,
			     (uint64_t)(uintptr_t)p->buf,
			     ROSM_ACCESS_LOCAL_WRITE, &own), 0);
	sge.lkey = rosm_mr_lkey(own);
	CHECK_EQ(rosm_qp_post_recv(p->qp, &wr), 0);
	rcpair_recv(p, 11, 0, 8);
	if (f->recv_dereg)
		CHECK_EQ(rosm_mr_dereg(own), 0);
	p->buf[0] = 0x11;
	sync_with(mp, 0);
	sync_with(mp, 0);
	CHECK_EQ(p->buf[0], 0x11);
	if (f->event >= 0) {
		CHECK_EQ(rosm_ctx_get_async(p->ctx, &ev), 0);
		CHECK_EQ(ev.type, f->event);
		CHECK(ev.qp == p->qp);
	}
	if (f->responder == -2) {
		/* nothing reached it */
		CHECK(!rcpair_poll(p, &wc, 20));
		CHECK_EQ(rosm_qp_state(p->qp), ROSM_QPS_RTS);
	} else {
		rcpair_expect(p, 10, f->responder < 0 ?
					     ROSM_WC_WR_FLUSH_ERR :
					     (enum rosm_wc_status)f->responder);
		rcpair_expect(p, 11, ROSM_WC_WR_FLUSH_ERR);
		CHECK_EQ(rosm_qp_state(p->qp), ROSM_QPS_ERR);
	}
	if (!f->recv_dereg)
		CHECK_EQ(rosm_mr_dereg(own), 0);
}

static int one_fault(struct mp *mp, int rank, void *arg)
{
	const struct fault *f = arg;
	struct rcpair_how how = {
		.rnr_retry = 7,
		.timeout = 14,
		.sig_all_off = true,
	};
	struct rcpair p;

	if (rank) {
		how.access = f->access;
		how.max_dest_rd_atomic_off = (uint32_t)f->no_rd_atomic;
	}
	rcpair_connect(&p, mp, !rank, &how);
	if (rank)
		responder(&p, mp, f);
	else
		requester(&p, mp, f);
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void each_fault_has_its_statuses_on_both_sides(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		print_message("    %s\n", faults[i].name);
		assert_int_equal(mp_run(2, one_fault, (void *)&faults[i]), 0);
	}
}

static int rnr(struct mp *mp, int rank, void *arg)
{
	struct rcpair_how how = { .rnr_retry = 2, .timeout = 14 };
	struct rcpair p;

	(void)arg;
	rcpair_connect(&p, mp, !rank, &how);
	if (!rank) {
		rcpair_send(&p, 1, 0, 8, ROSM_SEND_SIGNALED);
		rcpair_send(&p, 2, 0, 8, ROSM_SEND_SIGNALED);
		rcpair_expect(&p, 1, ROSM_WC_RNR_RETRY_EXC_ERR);
		rcpair_expect(&p, 2, ROSM_WC_WR_FLUSH_ERR);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void a_receiver_not_ready_for_too_long_ends_the_send(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, rnr, NULL), 0);
}

static int gone(struct mp *mp, int rank, void *arg)
{
	struct rcpair_how how = { .rnr_retry = 7, .timeout = 10 };
	struct rcpair p;

	(void)arg;
	rcpair_connect(&p, mp, !rank, &how);
	if (rank) {
		struct rosm_qp_attr a = { .qp_state = ROSM_QPS_RESET };

		CHECK_EQ(rosm_qp_modify(p.qp, &a, ROSM_QP_STATE), 0);
		sync_with(mp, 0);
	} else {
		sync_with(mp, 1);
		rcpair_send(&p, 1, 0, 8, ROSM_SEND_SIGNALED);
		rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, 2, 0, 8, 0, 0);
		rcpair_expect(&p, 1, ROSM_WC_RETRY_EXC_ERR);
		rcpair_expect(&p, 2, ROSM_WC_WR_FLUSH_ERR);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void a_peer_that_was_reset_answers_no_more(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, gone, NULL), 0);
}

static int survivor(struct mp *mp, int rank, void *arg)
{
	int sender = *(int *)arg;
	struct rcpair p;
	struct rosm_wc wc;
	uint64_t start;
	char c = 0;
	int i, failed = 0;

	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		mp_send(mp, MP_PARENT, &c, 1);
		pause();
	}
	for (i = 0; i < 8; i++)
		rcpair_recv(&p, 100 + (uint64_t)i, 0, 64);
	for (i = 0; sender && i < 4; i++)	/* no RECV there: they wait */
		rcpair_send(&p, (uint64_t)i, 0, 64, ROSM_SEND_SIGNALED);
	mp_send(mp, MP_PARENT, &c, 1);
	start = mp_now_ns();
	for (i = 0; i < (sender ? 12 : 8); i++) {
		CHECK(rcpair_poll(&p, &wc, 3000));
		if (sender && wc.wr_id == 0) {
			CHECK_EQ(wc.status, ROSM_WC_RETRY_EXC_ERR);
			failed++;
		} else {
			CHECK_EQ(wc.status, ROSM_WC_WR_FLUSH_ERR);
		}
	}
	CHECK_EQ(failed, sender);
	CHECK_LT(mp_now_ns() - start, 3000000000ll);
	CHECK_EQ(rosm_qp_state(p.qp), ROSM_QPS_ERR);
	/* the root cause is told once, by whichever send comes first */
	rcpair_send(&p, 50, 0, 8, ROSM_SEND_SIGNALED);
	rcpair_send(&p, 51, 0, 8, ROSM_SEND_SIGNALED);
	rcpair_expect(&p, 50, sender ? ROSM_WC_WR_FLUSH_ERR :
				       ROSM_WC_RETRY_EXC_ERR);
	rcpair_expect(&p, 51, ROSM_WC_WR_FLUSH_ERR);
	rcpair_close(&p);
	return 0;
}

static void run_survivor(int sender)
{
	struct mp *mp = mp_start(2, survivor, &sender);
	char c;

	mp_recv(mp, 1, &c, 1);
	mp_recv(mp, 0, &c, 1);
	mp_kill(mp, 1);
	assert_int_equal(mp_finish(mp), 0);
}

static void a_killed_peer_ends_what_waits_for_it(void **state)
{
	(void)state;
	run_survivor(1);
}

static void a_killed_peer_ends_the_receives_meant_for_it(void **state)
{
	(void)state;
	run_survivor(0);
}

static int quiet_end(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	struct rosm_wc wc;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	rcpair_recv(&p, 1, 0, 64);
	sync_with(mp, !rank);
	if (rank) {
		rcpair_close(&p);
		return 0;	/* an orderly end, no death */
	}
	CHECK(!rcpair_poll(&p, &wc, 600));
	CHECK_EQ(rosm_qp_state(p.qp), ROSM_QPS_RTS);
	rcpair_send(&p, 7, 0, 8, ROSM_SEND_SIGNALED);
	rcpair_expect(&p, 7, ROSM_WC_RETRY_EXC_ERR);
	rcpair_expect(&p, 1, ROSM_WC_WR_FLUSH_ERR);
	rcpair_close(&p);
	return 0;
}

static void a_peer_that_ends_in_order_disturbs_no_receive(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, quiet_end, NULL), 0);
}

/* What some daemons do at their start: all that the program did not open. */
static int closes_all(struct mp *mp, int rank, void *arg)
{
	bool before[256];
	struct rcpair p;
	struct rosm_wc wc;
	int fd;

	(void)arg;
	for (fd = 0; fd < 256; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
	rcpair_connect(&p, mp, !rank, NULL);
	rcpair_recv(&p, 1, 0, 64);
	sync_with(mp, !rank);
	for (fd = 0; rank && fd < 256; fd++)
		if (!before[fd])
			close(fd);
	/* the others take it for dead, and it knows */
	rcpair_expect(&p, 1, ROSM_WC_WR_FLUSH_ERR);
	CHECK_EQ(rosm_qp_state(p.qp), ROSM_QPS_ERR);
	rcpair_send(&p, 2, 0, 8, ROSM_SEND_SIGNALED);
	CHECK(rcpair_poll(&p, &wc, 1000));
	CHECK_NE(wc.status, ROSM_WC_SUCCESS);
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void who_closes_all_descriptors_fails_cleanly(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, closes_all, NULL), 0);
}

static int asleep(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	struct rosm_wc wc;
	void *cookie;
	char c = 0;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		mp_send(mp, MP_PARENT, &c, 1);
		pause();
	}
	rcpair_recv(&p, 1, 0, 64);
	CHECK_EQ(rosm_cq_arm(p.cq, false), 0);
	mp_send(mp, MP_PARENT, &c, 1);
	CHECK_EQ(rosm_channel_get_event(p.channel, &cookie), 0);
	CHECK(cookie == &p);
	CHECK(rcpair_poll(&p, &wc, 100));
	CHECK_EQ(wc.status, ROSM_WC_WR_FLUSH_ERR);
	rcpair_close(&p);
	return 0;
}

static void a_killed_peer_wakes_a_sleeper(void **state)
{
	struct mp *mp = mp_start(2, asleep, NULL);
	char c;

	(void)state;
	mp_recv(mp, 1, &c, 1);
	mp_recv(mp, 0, &c, 1);
	usleep(20000);
	mp_kill(mp, 1);
	assert_int_equal(mp_finish(mp), 0);
}

static int reuse(struct mp *mp, int rank, void *arg)
{
	struct rosm_qp_attr a = { .qp_state = ROSM_QPS_RESET };
	struct rcpair p;
	struct rosm_wc wc;
	int i;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	for (i = 0; i < 5; i++) {
		if (rank) {
			rcpair_recv(&p, 1, 0, 64);
			rcpair_recv(&p, 2, 0, 64);
			sync_with(mp, 0);
			rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		} else {
			sync_with(mp, 1);
			rcpair_send(&p, 5, 0, 64, ROSM_SEND_SIGNALED);
			if (i & 1)
				rcpair_expect(&p, 5, ROSM_WC_SUCCESS);
		}
		sync_with(mp, !rank);
		CHECK_EQ(rosm_qp_modify(p.qp, &a, ROSM_QP_STATE), 0);
		CHECK(!rcpair_poll(&p, &wc, 1));	/* its CQEs went */
		sync_with(mp, !rank);
		rcpair_to_rts(&p, p.other.qpn, NULL);
		sync_with(mp, !rank);
	}
	rcpair_close(&p);
	return 0;
}

static void a_reset_pair_starts_anew(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, reuse, NULL), 0);
}

/*
 * Rank 1 copies without a pause; rank 0 looks whether its hazard line names
 * both regions, which is what a deregistration would wait for.
 */
static int named(struct mp *mp, int rank, void *arg)
{
	enum rosm_wr_opcode op = *(enum rosm_wr_opcode *)arg;
	uint64_t end, looks = 0;
	bool mine = false, theirs = false;
	struct rcpair p;
	struct rosm_wc wc;
	char c;

	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		while (mp_recv_timeout(mp, 0, &c, 1, 0) == -ETIMEDOUT) {
			if (op == ROSM_WR_SEND)
				rcpair_send(&p, 1, 0, RC_BUF_BYTES,
					    ROSM_SEND_SIGNALED);
			else
				rcpair_rdma(&p, op, 1, 0, RC_BUF_BYTES, 0, 0);
			rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		}
		rcpair_close(&p);
		return 0;
	}
	if (op == ROSM_WR_SEND)
		rcpair_recv(&p, 1, 0, RC_BUF_BYTES);
	end = mp_now_ns() + 5000000000ull;
	while (!mine || !theirs) {
		mine |= base_names(p.qp->conn.dst, p.ctx->inst->who,
				   rosm_mr_rkey(p.mr));
		theirs |= base_names(p.qp->conn.dst, p.qp->conn.dst->who,
				     p.other.rkey);
		if (++looks % 64)
			continue;
		CHECK_LT(mp_now_ns(), end);
		if (rosm_cq_poll(p.cq, 1, &wc) == 1)
			rcpair_recv(&p, 1, 0, RC_BUF_BYTES);
	}
	mp_send(mp, 1, &c, 1);
	while (rcpair_poll(&p, &wc, 20))
		rcpair_recv(&p, 1, 0, RC_BUF_BYTES);
	rcpair_close(&p);
	return 0;
}

static void a_copy_under_way_names_both_regions(void **state)
{
	enum rosm_wr_opcode op[] = { ROSM_WR_RDMA_WRITE, ROSM_WR_RDMA_READ,
				     ROSM_WR_SEND };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(op) / sizeof(op[0]); i++)
		assert_int_equal(mp_run(2, named, &op[i]), 0);
}

static int full(struct mp *mp, int rank, void *arg)
{
	struct rosm_send_wr send = { .opcode = ROSM_WR_SEND };
	struct rosm_recv_wr recv = { 0 };
	uint32_t i, n;
	struct rcpair p;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	n = p.qp->cap.max_send_wr;
	if (rank) {
		sync_with(mp, 0);
		for (i = 0; i < n + 1; i++) {
			CHECK_EQ(rosm_qp_post_recv(p.qp, &recv), 0);
			rcpair_expect(&p, 0, ROSM_WC_SUCCESS);
		}
	} else {
		for (i = 0; i < p.qp->cap.max_recv_wr; i++)
			CHECK_EQ(rosm_qp_post_recv(p.qp, &recv), 0);
		CHECK_EQ(rosm_qp_post_recv(p.qp, &recv), -ENOMEM);
		for (i = 0; i < n; i++)
			CHECK_EQ(rosm_qp_post_send(p.qp, &send), 0);
		CHECK_EQ(rosm_qp_post_send(p.qp, &send), -ENOMEM);
		sync_with(mp, 1);
		rcpair_expect(&p, 0, ROSM_WC_SUCCESS);
		CHECK_EQ(rosm_qp_post_send(p.qp, &send), 0);
		CHECK_EQ(rosm_qp_post_send(p.qp, &send), -ENOMEM);
		for (i = 0; i < n; i++)
			rcpair_expect(&p, 0, ROSM_WC_SUCCESS);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void full_queues_take_no_more(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, full, NULL), 0);
}

static int overrun(struct mp *mp, int rank, void *arg)
{
	struct rcpair_how how = { .rnr_retry = 7, .timeout = 14, .cqe = 4 };
	struct rosm_async_event ev;
	struct rcpair p;
	struct rosm_wc wc;
	uint64_t i;

	(void)arg;
	rcpair_connect(&p, mp, !rank, &how);
	if (rank) {
		for (i = 0; i < 5; i++)
			rcpair_recv(&p, i, 0, 64);
		sync_with(mp, 0);
	} else {
		sync_with(mp, 1);
		for (i = 0; i < 5; i++)
			rcpair_send(&p, i, 0, 8, ROSM_SEND_SIGNALED);
		CHECK_EQ(rosm_ctx_get_async(p.ctx, &ev), 0);
		CHECK_EQ(ev.type, ROSM_EVENT_CQ_ERR);
		for (i = 0; i < 4; i++)
			rcpair_expect(&p, i, ROSM_WC_SUCCESS);
		CHECK_EQ(rosm_cq_poll(p.cq, 1, &wc), -EIO);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void an_overrun_of_a_completion_queue_is_told(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, overrun, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fault_has_its_statuses_on_both_sides),
		cmocka_unit_test(a_receiver_not_ready_for_too_long_ends_the_send),
		cmocka_unit_test(a_peer_that_was_reset_answers_no_more),
		cmocka_unit_test(a_killed_peer_ends_what_waits_for_it),
		cmocka_unit_test(a_killed_peer_ends_the_receives_meant_for_it),
		cmocka_unit_test(a_peer_that_ends_in_order_disturbs_no_receive),
		cmocka_unit_test(who_closes_all_descriptors_fails_cleanly),
		cmocka_unit_test(a_killed_peer_wakes_a_sleeper),
		cmocka_unit_test(a_reset_pair_starts_anew),
		cmocka_unit_test(a_copy_under_way_names_both_regions),
		cmocka_unit_test(full_queues_take_no_more),
		cmocka_unit_test(an_overrun_of_a_completion_queue_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
