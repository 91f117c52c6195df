/* SPDX-License-Identifier: BSD-2-Clause */
/* See rcpair.h. */
#include <config.h>

#include "tests/proc/rcpair.h"

#include <stdlib.h>
#include <string.h>
#include <sched.h>

#include "tests/lib/assert.h"

static const struct rcpair_how plain = { .rnr_retry = 7, .timeout = 14 };

void rcpair_open(struct rcpair *p, const struct rcpair_how *how)
{
	struct rosm_qp_init init = {
		.type = ROSM_QPT_RC,
		.cap = { RC_DEPTH, RC_DEPTH, 4, 4, how ? how->inline_data : 0 },
		.sq_sig_all = !how || !how->sig_all_off,
	};
	uint32_t cqe;

	memset(p, 0, sizeof(*p));
	CHECK_EQ(rosm_ctx_open(&p->ctx), 0);
	CHECK_EQ(rosm_pd_alloc(p->ctx, &p->pd), 0);
	CHECK_EQ(rosm_channel_create(p->ctx, &p->channel), 0);
	CHECK_EQ(rosm_cq_create(p->ctx, how && how->cqe ? how->cqe :
							    4 * RC_DEPTH,
				 p->channel, p, &cqe, &p->cq), 0);
	init.send_cq = p->cq;
	init.recv_cq = p->cq;
	CHECK_EQ(rosm_qp_create(p->pd, &init, &p->qp), 0);
	p->buf = aligned_alloc(4096, RC_BUF_BYTES);
	CHECK(p->buf);
	memset(p->buf, 0, RC_BUF_BYTES);
	CHECK_EQ(rosm_mr_reg(p->pd, p->buf, RC_BUF_BYTES,
			      (uint64_t)(uintptr_t)p->buf,
			      ROSM_ACCESS_LOCAL_WRITE |
				      ROSM_ACCESS_REMOTE_WRITE |
				      ROSM_ACCESS_REMOTE_READ,
			      &p->mr), 0);
}

void rcpair_to_rts(struct rcpair *p, uint32_t qpn, const struct rcpair_how *how)
{
	struct rosm_qp_attr a;
	struct rosm_port port;

	if (!how)
		how = &plain;
	CHECK_EQ(rosm_ctx_query_port(p->ctx, &port), 0);
	memset(&a, 0, sizeof(a));
	a.qp_state = ROSM_QPS_INIT;
	a.port_num = 1;
	a.qp_access_flags = how->access ? how->access :
		ROSM_ACCESS_LOCAL_WRITE | ROSM_ACCESS_REMOTE_WRITE |
		ROSM_ACCESS_REMOTE_READ;
	CHECK_EQ(rosm_qp_modify(p->qp, &a, ROSM_QP_STATE | ROSM_QP_PORT |
				 ROSM_QP_PKEY_INDEX | ROSM_QP_ACCESS_FLAGS), 0);
	a.qp_state = ROSM_QPS_RTR;
	a.path_mtu = 5;
	a.dest_qp_num = qpn;
	a.max_dest_rd_atomic = how->max_dest_rd_atomic_off ? 0 : 4;
	a.min_rnr_timer = 12;
	a.ah.dlid = how->dlid ? how->dlid : port.lid;
	a.ah.port_num = 1;
	CHECK_EQ(rosm_qp_modify(p->qp, &a, ROSM_QP_STATE | ROSM_QP_AV |
				 ROSM_QP_PATH_MTU | ROSM_QP_DEST_QPN |
				 ROSM_QP_RQ_PSN | ROSM_QP_MAX_DEST_RD_ATOMIC |
				 ROSM_QP_MIN_RNR_TIMER), 0);
	a.qp_state = ROSM_QPS_RTS;
	a.timeout = (uint8_t)how->timeout;
	a.retry_cnt = 7;
	a.rnr_retry = (uint8_t)how->rnr_retry;
	a.max_rd_atomic = 4;
	CHECK_EQ(rosm_qp_modify(p->qp, &a, ROSM_QP_STATE | ROSM_QP_TIMEOUT |
				 ROSM_QP_RETRY_CNT | ROSM_QP_RNR_RETRY |
				 ROSM_QP_SQ_PSN | ROSM_QP_MAX_QP_RD_ATOMIC), 0);
}

void rcpair_connect(struct rcpair *p, struct mp *mp, int peer,
		    const struct rcpair_how *how)
{
	struct {
		uint32_t qpn;
		uint32_t rkey;
		uint64_t addr;
	} mine;
	char sync = 0;

	rcpair_open(p, how);
	mine.qpn = rosm_qp_num(p->qp);
	mine.rkey = rosm_mr_rkey(p->mr);
	mine.addr = (uint64_t)(uintptr_t)p->buf;
	mp_send(mp, peer, &mine, sizeof(mine));
	CHECK_EQ(mp_recv(mp, peer, &p->other, sizeof(p->other)),
		  sizeof(p->other));
	rcpair_to_rts(p, p->other.qpn, how);
	mp_send(mp, peer, &sync, 1);
	mp_recv(mp, peer, &sync, 1);
}

void rcpair_close(struct rcpair *p)
{
	CHECK_EQ(rosm_qp_destroy(p->qp), 0);
	CHECK_EQ(rosm_mr_dereg(p->mr), 0);
	CHECK_EQ(rosm_cq_destroy(p->cq), 0);
	CHECK_EQ(rosm_channel_destroy(p->channel), 0);
	CHECK_EQ(rosm_pd_free(p->pd), 0);
	CHECK_EQ(rosm_ctx_close(p->ctx), 0);
	free(p->buf);
}

void rcpair_send(struct rcpair *p, uint64_t wr_id, uint32_t off, uint32_t len,
		 uint32_t flags)
{
	struct rosm_sge sge = { (uint64_t)(uintptr_t)(p->buf + off), len,
				rosm_mr_lkey(p->mr) };
	struct rosm_send_wr wr = {
		.wr_id = wr_id,
		.opcode = ROSM_WR_SEND,
		.flags = flags,
		.sg_list = &sge,
		.num_sge = 1,
	};

	CHECK_EQ(rosm_qp_post_send(p->qp, &wr), 0);
}

void rcpair_recv(struct rcpair *p, uint64_t wr_id, uint32_t off, uint32_t len)
{
	struct rosm_sge sge = { (uint64_t)(uintptr_t)(p->buf + off), len,
				rosm_mr_lkey(p->mr) };
	struct rosm_recv_wr wr = { wr_id, &sge, 1 };

	CHECK_EQ(rosm_qp_post_recv(p->qp, &wr), 0);
}

void rcpair_rdma(struct rcpair *p, enum rosm_wr_opcode op, uint64_t wr_id,
		 uint32_t off, uint32_t len, uint32_t remote_off, uint32_t imm)
{
	struct rosm_sge sge = { (uint64_t)(uintptr_t)(p->buf + off), len,
				rosm_mr_lkey(p->mr) };
	struct rosm_send_wr wr = {
		.wr_id = wr_id,
		.opcode = op,
		.flags = ROSM_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.imm = imm,
		.remote_addr = p->other.addr + remote_off,
		.rkey = p->other.rkey,
	};

	CHECK_EQ(rosm_qp_post_send(p->qp, &wr), 0);
}

bool rcpair_poll(struct rcpair *p, struct rosm_wc *wc, int ms)
{
	uint64_t end = mp_now_ns() + (uint64_t)ms * 1000000u;
	unsigned int n = 0;
	int rc;

	for (;;) {
		rc = rosm_cq_poll(p->cq, 1, wc);
		CHECK(rc >= 0);
		if (rc)
			return true;
		if (++n % 64 == 0) {
			if (mp_now_ns() > end)
				return false;
			sched_yield();
		}
	}
}

void rcpair_expect(struct rcpair *p, uint64_t wr_id, enum rosm_wc_status status)
{
	struct rosm_wc wc;

	CHECK(rcpair_poll(p, &wc, 10000));
	CHECK_EQ(wc.status, status);
	CHECK_EQ(wc.wr_id, wr_id);
	CHECK_EQ(wc.qp_num, rosm_qp_num(p->qp));
}

static uint8_t pattern_at(uint32_t i, uint32_t seed)
{
	return (uint8_t)((i * 2654435761u + seed * 40503u) >> 13);
}

void pattern_fill(uint8_t *buf, uint32_t len, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		buf[i] = pattern_at(i, seed);
}

void pattern_check(const uint8_t *buf, uint32_t len, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		if (buf[i] != pattern_at(i, seed))
			check_failed(__FILE__, __LINE__,
				     "byte %u of %u (seed %u): 0x%02x, not 0x%02x",
				     i, len, seed, buf[i], pattern_at(i, seed));
}
