/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mesh of RC: every process has a queue pair to every other one, all on one
 * CQ, and posts Sends, WRITEs with immediate data and READs of random sizes at
 * random; receives are posted late at random. Each message carries its number
 * and a pattern; order, content and count are checked.
 *
 * 3 seconds in `make check`, 5 minutes in `make soak`. ROSM_SEED repeats a run.
 */
#include <config.h>

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/rosm.h"
#include "tests/lib/assert.h"
#include "tests/lib/mp.h"
#include "tests/proc/rcpair.h"

enum {
	PROCS = 4,
	DEPTH = 32,
	MAX_MSG = 20000,
	LANE = DEPTH * MAX_MSG,		/* buffer of one direction of a QP */
};

struct lane {
	struct rcpair p;		/* only qp, other and buf differ */
	uint64_t posted;		/* sends */
	uint64_t done;
	uint64_t recv_posted;
	uint64_t received;
	uint32_t len[DEPTH];
	int kind[DEPTH];
};

struct node {
	struct lane lane[PROCS];
	struct rcpair base;
	int rank;
	unsigned int seed;
};

static unsigned int rnd(struct node *n, unsigned int below)
{
	return (unsigned int)rand_r(&n->seed) % below;
}

static uint32_t message_seed(int from, int to, uint64_t number)
{
	return (uint32_t)(number * 16 + (unsigned int)(from * PROCS + to));
}

/* The size is a function of the number, so that the receiver knows it. */
static uint32_t message_len(int from, int to, uint64_t number)
{
	uint32_t x = message_seed(from, to, number) * 2654435761u;

	return x >> 31 ? (x >> 8) % MAX_MSG : (x >> 8) % 200;
}

static void open_node(struct node *n, struct mp *mp)
{
	struct rcpair_how how = { .cqe = 4096 };
	int i;

	rcpair_open(&n->base, &how);
	CHECK_EQ(rosm_mr_dereg(n->base.mr), 0);
	free(n->base.buf);
	CHECK_EQ(rosm_qp_destroy(n->base.qp), 0);
	for (i = 0; i < PROCS; i++) {
		struct lane *l = &n->lane[i];
		struct rosm_qp_init init = {
			.type = ROSM_QPT_RC,
			.send_cq = n->base.cq,
			.recv_cq = n->base.cq,
			.cap = { DEPTH, DEPTH, 1, 1, 0 },
			.sq_sig_all = true,
			.cookie = l,
		};
		struct { uint32_t qpn, rkey; uint64_t addr; } mine;

		if (i == n->rank)
			continue;
		l->p = n->base;
		CHECK_EQ(rosm_qp_create(l->p.pd, &init, &l->p.qp), 0);
		/* sends, receives, what others write */
		l->p.buf = aligned_alloc(4096, (3 * LANE + 4095) & ~4095);
		CHECK(l->p.buf);
		memset(l->p.buf, 0, 3 * LANE);
		CHECK_EQ(rosm_mr_reg(l->p.pd, l->p.buf, 3 * LANE,
				     (uint64_t)(uintptr_t)l->p.buf,
				     ROSM_ACCESS_LOCAL_WRITE |
					     ROSM_ACCESS_REMOTE_WRITE |
					     ROSM_ACCESS_REMOTE_READ,
				     &l->p.mr), 0);
		mine.qpn = rosm_qp_num(l->p.qp);
		mine.rkey = rosm_mr_rkey(l->p.mr);
		mine.addr = (uint64_t)(uintptr_t)l->p.buf;
		mp_send(mp, i, &mine, sizeof(mine));
	}
	for (i = 0; i < PROCS; i++) {
		if (i == n->rank)
			continue;
		mp_recv(mp, i, &n->lane[i].p.other,
			sizeof(n->lane[i].p.other));
		rcpair_to_rts(&n->lane[i].p, n->lane[i].p.other.qpn, NULL);
	}
	mp_barrier(mp);
}

static void close_node(struct node *n)
{
	int i;

	for (i = 0; i < PROCS; i++) {
		if (i == n->rank)
			continue;
		CHECK_EQ(rosm_qp_destroy(n->lane[i].p.qp), 0);
		CHECK_EQ(rosm_mr_dereg(n->lane[i].p.mr), 0);
		free(n->lane[i].p.buf);
	}
	CHECK_EQ(rosm_cq_destroy(n->base.cq), 0);
	CHECK_EQ(rosm_channel_destroy(n->base.channel), 0);
	CHECK_EQ(rosm_pd_free(n->base.pd), 0);
	CHECK_EQ(rosm_ctx_close(n->base.ctx), 0);
}

/* wr_id: lane << 32 | number, receives with bit 63. */
static void post_one(struct node *n, int to)
{
	struct lane *l = &n->lane[to];
	uint64_t number = l->posted;
	uint32_t slot = (uint32_t)(number % DEPTH);
	uint32_t len = message_len(n->rank, to, number);
	uint64_t id = (uint64_t)to << 32 | number;
	uint8_t *at = l->p.buf + slot * MAX_MSG;

	if (l->posted - l->done >= DEPTH)
		return;
	l->len[slot] = len;
	l->kind[slot] = (int)(number % 5);
	if (l->kind[slot] == 4) {
		/* what our last WRITE to this place left there, or zeroes */
		rcpair_rdma(&l->p, ROSM_WR_RDMA_READ, id, slot * MAX_MSG, len,
			    2 * LANE + slot * MAX_MSG, 0);
	} else {
		pattern_fill(at, len, message_seed(n->rank, to, number));
		if (l->kind[slot] == 3)
			rcpair_rdma(&l->p, ROSM_WR_RDMA_WRITE_WITH_IMM, id,
				    slot * MAX_MSG, len,
				    2 * LANE + slot * MAX_MSG,
				    (uint32_t)number);
		else
			rcpair_send(&l->p, id, slot * MAX_MSG, len, 0);
	}
	l->posted++;
}

static uint64_t next_consuming(uint64_t number)
{
	while (number % 5 == 4)
		number++;
	return number;
}

/* The k-th message that uses a RECV is number k + k / 4. */
static void post_recv(struct node *n, int from)
{
	struct lane *l = &n->lane[from];

	if (l->recv_posted - l->received >= DEPTH)
		return;
	rcpair_recv(&l->p, 1ull << 63 | (uint64_t)from << 32 | l->recv_posted,
		    LANE + (uint32_t)(l->recv_posted % DEPTH) * MAX_MSG,
		    MAX_MSG);
	l->recv_posted++;
}

static void took_recv(struct node *n, const struct rosm_wc *wc)
{
	int from = (int)(wc->wr_id >> 32 & 0xff);
	struct lane *l = &n->lane[from];
	uint64_t k = l->received++;
	uint64_t number = next_consuming(k + k / 4);
	uint32_t len = message_len(from, n->rank, number);
	const uint8_t *at = l->p.buf + LANE + k % DEPTH * MAX_MSG;

	CHECK_EQ(wc->wr_id & 0xffffffff, k);
	CHECK_EQ(wc->byte_len, len);
	if (number % 5 == 3) {
		CHECK_EQ(wc->opcode, ROSM_WC_RECV_RDMA_WITH_IMM);
		CHECK_EQ(wc->imm, (uint32_t)number);
		return;		/* its place may be written again by now */
	}
	CHECK_EQ(wc->opcode, ROSM_WC_RECV);
	pattern_check(at, len, message_seed(from, n->rank, number));
}

static void took_send(struct node *n, const struct rosm_wc *wc)
{
	struct lane *l = &n->lane[wc->wr_id >> 32];

	CHECK_EQ(wc->wr_id & 0xffffffff, l->done);
	l->done++;
}

static void poll_some(struct node *n)
{
	struct rosm_wc wc[16];
	int i, got = rosm_cq_poll(n->base.cq, 16, wc);

	CHECK(got >= 0);
	for (i = 0; i < got; i++) {
		CHECK_EQ(wc[i].status, ROSM_WC_SUCCESS);
		if (wc[i].wr_id >> 63)
			took_recv(n, &wc[i]);
		else
			took_send(n, &wc[i]);
	}
}

static int node(struct mp *mp, int rank, void *arg)
{
	static struct node n;
	uint64_t end, total[PROCS], want, sent = 0;
	unsigned soak_s = mp_soak_s();
	int i, open;

	n.rank = rank;
	n.seed = *(unsigned int *)arg + (unsigned int)rank;
	open_node(&n, mp);
	end = mp_now_ns() + (soak_s ? soak_s : 3) * 1000000000ull;
	while (mp_now_ns() < end) {
		int who = (int)rnd(&n, PROCS), burst = (int)rnd(&n, 12);

		if (who == rank)
			continue;
		while (burst--)
			post_one(&n, who);
		for (burst = (int)rnd(&n, 20); burst > 0; burst--) {
			who = (int)rnd(&n, PROCS);
			if (who != rank)
				post_recv(&n, who);
		}
		if (rnd(&n, 3))
			poll_some(&n);
		if (!rnd(&n, 50))
			sched_yield();
	}
	/* tell everybody how much there is to come, then take it all */
	for (i = 0; i < PROCS; i++)
		if (i != rank)
			mp_send(mp, i, &n.lane[i].posted,
				sizeof(n.lane[i].posted));
	for (i = 0; i < PROCS; i++)
		if (i != rank)
			mp_recv(mp, i, &total[i], sizeof(total[i]));
	do {
		open = 0;
		for (i = 0; i < PROCS; i++) {
			if (i == rank)
				continue;
			want = total[i] - total[i] / 5;
			if (n.lane[i].recv_posted < want)
				post_recv(&n, i);
			open |= n.lane[i].received < want ||
				n.lane[i].done < n.lane[i].posted;
		}
		poll_some(&n);
	} while (open);
	for (i = 0; i < PROCS; i++)
		sent += n.lane[i].posted;
	CHECK_GT(sent, 100);
	mp_barrier(mp);
	close_node(&n);
	return 0;
}

static void a_mesh_under_random_load_loses_nothing(void **state)
{
	const char *seed = getenv("ROSM_SEED");
	unsigned int s = seed ? (unsigned int)atoi(seed) : 4711;
	struct mp *mp;

	(void)state;
	mp = mp_start(PROCS, node, &s);
	mp_deadline(mp, 60 + 2 * mp_soak_s());
	assert_int_equal(mp_finish(mp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mesh_under_random_load_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
