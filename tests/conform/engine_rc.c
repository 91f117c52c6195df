/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Driver of the engine's RC queue pairs: one for each other role, one CQ for
 * sends and one for receives.
 */
#include <config.h>

#include "tests/conform/engine.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rosm.h"
#include "tests/lib/assert.h"

enum { DEPTH = 128, INLINE_BYTES = 256, PORT = 1 };

struct card {
	uint32_t qpn[ROLES_MAX];
	uint32_t rkey;
	uint64_t addr;
};

struct rc {
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
	struct rosm_mr *mr;
	struct rosm_cq *cq[QUEUES];
	struct rosm_qp *qp[ROLES_MAX];
	struct card card[ROLES_MAX];
};

static void qp_connect(struct rc *rc, const struct end *e, int peer)
{
	struct rosm_qp_attr a = {
		.qp_state = ROSM_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = ROSM_ACCESS_LOCAL_WRITE |
				   ROSM_ACCESS_REMOTE_WRITE |
				   ROSM_ACCESS_REMOTE_READ,
		.path_mtu = 5,
		.dest_qp_num = rc->card[peer].qpn[e->role],
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah.port_num = PORT,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = (uint8_t)e->rnr_retry,
		.max_rd_atomic = 4,
	};
	struct rosm_port port;

	CHECK_OK(rosm_ctx_query_port(rc->ctx, &port));
	a.ah.dlid = port.lid;
	CHECK_OK(rosm_qp_modify(rc->qp[peer], &a, ROSM_QP_STATE | ROSM_QP_PORT |
				ROSM_QP_PKEY_INDEX | ROSM_QP_ACCESS_FLAGS));
	a.qp_state = ROSM_QPS_RTR;
	CHECK_OK(rosm_qp_modify(rc->qp[peer], &a, ROSM_QP_STATE | ROSM_QP_AV |
				ROSM_QP_PATH_MTU | ROSM_QP_DEST_QPN |
				ROSM_QP_RQ_PSN | ROSM_QP_MAX_DEST_RD_ATOMIC |
				ROSM_QP_MIN_RNR_TIMER));
	a.qp_state = ROSM_QPS_RTS;
	CHECK_OK(rosm_qp_modify(rc->qp[peer], &a, ROSM_QP_STATE |
				ROSM_QP_TIMEOUT | ROSM_QP_RETRY_CNT |
				ROSM_QP_RNR_RETRY | ROSM_QP_SQ_PSN |
				ROSM_QP_MAX_QP_RD_ATOMIC));
}

static void rc_open(struct end *e)
{
	struct rc *rc = calloc(1, sizeof(*rc));
	struct card *mine;
	uint32_t cqe;
	int i;

	CHECK(rc != NULL);
	e->face = rc;
	mine = &rc->card[e->role];
	CHECK_OK(rosm_ctx_open(&rc->ctx));
	CHECK_OK(rosm_pd_alloc(rc->ctx, &rc->pd));
	for (i = 0; i < QUEUES; i++)
		CHECK_OK(rosm_cq_create(rc->ctx, ROLES_MAX * DEPTH, NULL, NULL,
					&cqe, &rc->cq[i]));
	CHECK_OK(rosm_mr_reg(rc->pd, e->buf, BUF_BYTES, (uintptr_t)e->buf,
			     ROSM_ACCESS_LOCAL_WRITE |
			     ROSM_ACCESS_REMOTE_WRITE | ROSM_ACCESS_REMOTE_READ,
			     &rc->mr));
	mine->rkey = rosm_mr_rkey(rc->mr);
	mine->addr = (uintptr_t)e->buf;
	for (i = 0; i < e->roles; i++) {
		struct rosm_qp_init init = {
			.type = ROSM_QPT_RC,
			.send_cq = rc->cq[Q_SEND],
			.recv_cq = rc->cq[Q_RECV],
			.cap = { DEPTH, DEPTH, SGE_MAX, SGE_MAX, INLINE_BYTES },
		};

		if (i == e->role)
			continue;
		CHECK_OK(rosm_qp_create(rc->pd, &init, &rc->qp[i]));
		mine->qpn[i] = rosm_qp_num(rc->qp[i]);
	}
	end_exchange(e, rc->card, sizeof(*mine));
	for (i = 0; i < e->roles; i++)
		if (i != e->role)
			qp_connect(rc, e, i);
}

static void rc_close(struct end *e)
{
	struct rc *rc = e->face;
	int i;

	for (i = 0; i < e->roles; i++)
		if (rc->qp[i])
			CHECK_OK(rosm_qp_destroy(rc->qp[i]));
	CHECK_OK(rosm_mr_dereg(rc->mr));
	for (i = 0; i < QUEUES; i++)
		CHECK_OK(rosm_cq_destroy(rc->cq[i]));
	CHECK_OK(rosm_pd_free(rc->pd));
	CHECK_OK(rosm_ctx_close(rc->ctx));
	free(rc);
}

static unsigned int sges(const struct end *e, const struct op *op,
			 struct rosm_sge sge[SGE_MAX])
{
	const struct rc *rc = e->face;
	struct iovec iov[SGE_MAX];
	unsigned int i, n = op_pieces(e, op, iov);

	for (i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)iov[i].iov_base;
		sge[i].length = (uint32_t)iov[i].iov_len;
		sge[i].lkey = rosm_mr_lkey(rc->mr);
	}
	return n;
}

static enum rosm_wr_opcode opcode(const struct op *op)
{
	bool imm = op->flags & OPF_IMM;

	if (op->kind == OP_READ)
		return ROSM_WR_RDMA_READ;
	if (op->kind == OP_WRITE)
		return imm ? ROSM_WR_RDMA_WRITE_WITH_IMM : ROSM_WR_RDMA_WRITE;
	return imm ? ROSM_WR_SEND_WITH_IMM : ROSM_WR_SEND;
}

static int rc_post(struct end *e, const struct op *op)
{
	struct rc *rc = e->face;
	struct card *other = &rc->card[op->peer];
	struct rosm_sge sge[SGE_MAX];
	unsigned int n = sges(e, op, sge);
	struct rosm_send_wr wr = {
		.wr_id = op->id,
		.sg_list = sge,
		.num_sge = n,
		.remote_addr = other->addr + op->at,
		.rkey = other->rkey + (op->flags & OPF_BADKEY ? 0x100 : 0),
		.imm = htonl((uint32_t)op->imm),
	};
	struct rosm_recv_wr recv = { op->id, sge, n };

	if (op->flags & (OPF_TAG | OPF_MULTI) || op->kind == OP_PEEK ||
	    op->kind == OP_CANCEL)
		return -EOPNOTSUPP;	/* nothing to say it with */
	if (op->kind == OP_RECV)
		return rosm_qp_post_recv(rc->qp[op->peer], &recv);
	wr.opcode = opcode(op);
	if (!(op->flags & OPF_QUIET))
		wr.flags |= ROSM_SEND_SIGNALED;
	if (op->flags & OPF_INLINE)
		wr.flags |= ROSM_SEND_INLINE;
	return rosm_qp_post_send(rc->qp[op->peer], &wr);
}

static const enum status statuses[] = {
	[ROSM_WC_SUCCESS] = ST_OK,
	[ROSM_WC_LOC_LEN_ERR] = ST_LENGTH,
	[ROSM_WC_LOC_QP_OP_ERR] = ST_OTHER,
	[ROSM_WC_LOC_EEC_OP_ERR] = ST_OTHER,
	[ROSM_WC_LOC_PROT_ERR] = ST_PROTECTION,
	[ROSM_WC_WR_FLUSH_ERR] = ST_FLUSHED,
	[ROSM_WC_MW_BIND_ERR] = ST_OTHER,
	[ROSM_WC_BAD_RESP_ERR] = ST_OTHER,
	[ROSM_WC_LOC_ACCESS_ERR] = ST_OTHER,
	[ROSM_WC_REM_INV_REQ_ERR] = ST_REMOTE_INVALID,
	[ROSM_WC_REM_ACCESS_ERR] = ST_REMOTE_ACCESS,
	[ROSM_WC_REM_OP_ERR] = ST_REMOTE_OPERATION,
	[ROSM_WC_RETRY_EXC_ERR] = ST_DEAD,
	[ROSM_WC_RNR_RETRY_EXC_ERR] = ST_NOT_READY,
};

static int rc_poll(struct end *e, struct comp *c)
{
	struct rc *rc = e->face;
	struct rosm_wc wc;
	int q, i, n = 0;

	for (q = 0; q < QUEUES && !n; q++) {
		n = rosm_cq_poll(rc->cq[q], 1, &wc);
		CHECK_GE(n, 0);
		c->queue = (enum queue)q;
	}
	if (!n)
		return 0;
	c->id = wc.wr_id;
	c->status = wc.status < sizeof(statuses) / sizeof(*statuses) ?
			    statuses[wc.status] : ST_OTHER;
	if (c->status != ST_OK || c->queue == Q_SEND)
		return 1;
	c->write = wc.opcode == ROSM_WC_RECV_RDMA_WITH_IMM;
	c->len = wc.byte_len;
	c->has_imm = wc.wc_flags & ROSM_WC_WITH_IMM;
	c->imm = ntohl(wc.imm);
	for (i = 0; i < e->roles; i++)
		if (rc->qp[i] && rosm_qp_num(rc->qp[i]) == wc.qp_num)
			c->from = i;
	return 1;
}

const struct face face_engine_rc = {
	.name = "engine-rc",
	.family = "engine-rc",
	.open = rc_open,
	.post = rc_post,
	.poll = rc_poll,
	.close = rc_close,
	.refusal = engine_refusal,
};
