/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that runs scripts on the verbs face, as any verbs program would
 * use it: RC queue pairs, one for each other role. Once with ibv_post_send and
 * once with the ibv_wr_ builders.
 */
#include <config.h>

#include "tests/conform/face.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "tests/lib/assert.h"

enum { DEPTH = 128, INLINE_BYTES = 256, PORT = 1,
       ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		IBV_ACCESS_REMOTE_READ };

struct card {
	uint32_t qpn[ROLES_MAX];
	uint32_t rkey;
	uint64_t addr;
	uint16_t lid;
};

struct vb {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq[QUEUES];
	struct ibv_qp *qp[ROLES_MAX];
	struct card card[ROLES_MAX];
	bool builders;
};

/* ---- object --------------------------------------------------------- */

static struct ibv_context *device_open(void)
{
	struct ibv_device **list;
	struct ibv_context *ctx = NULL;
	int i, n;

	list = ibv_get_device_list(&n);
	CHECK(list != NULL);
	for (i = 0; i < n && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "rosm0"))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	CHECK(ctx != NULL);
	return ctx;
}

static struct ibv_qp *qp_create(struct vb *vb)
{
	struct ibv_qp_init_attr plain = {
		.send_cq = vb->cq[Q_SEND],
		.recv_cq = vb->cq[Q_RECV],
		.cap = { DEPTH, DEPTH, SGE_MAX, SGE_MAX, INLINE_BYTES },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = plain.send_cq,
		.recv_cq = plain.recv_cq,
		.cap = plain.cap,
		.qp_type = IBV_QPT_RC,
		.pd = vb->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_SEND_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				  IBV_QP_EX_WITH_RDMA_READ,
	};

	return vb->builders ? ibv_create_qp_ex(vb->ctx, &ex) :
			      ibv_create_qp(vb->pd, &plain);
}

static void qp_connect(struct vb *vb, const struct end *e, int peer)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = ACCESS,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = vb->card[peer].qpn[e->role],
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = vb->card[peer].lid, .port_num = PORT },
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = (uint8_t)e->rnr_retry,
		.max_rd_atomic = 4,
	};

	CHECK_OK(ibv_modify_qp(vb->qp[peer], &a, IBV_QP_STATE | IBV_QP_PORT |
			       IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS));
	a.qp_state = IBV_QPS_RTR;
	CHECK_OK(ibv_modify_qp(vb->qp[peer], &a, IBV_QP_STATE | IBV_QP_AV |
			       IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			       IBV_QP_MIN_RNR_TIMER));
	a.qp_state = IBV_QPS_RTS;
	CHECK_OK(ibv_modify_qp(vb->qp[peer], &a, IBV_QP_STATE | IBV_QP_TIMEOUT |
			       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void vb_open(struct end *e, bool builders)
{
	struct vb *vb = calloc(1, sizeof(*vb));
	struct ibv_port_attr port;
	struct card *mine;
	int i;

	CHECK(vb != NULL);
	e->face = vb;
	mine = &vb->card[e->role];
	vb->builders = builders;
	vb->ctx = device_open();
	CHECK((vb->pd = ibv_alloc_pd(vb->ctx)) != NULL);
	for (i = 0; i < QUEUES; i++) {
		vb->cq[i] = ibv_create_cq(vb->ctx, ROLES_MAX * DEPTH, NULL,
					  NULL, 0);
		CHECK(vb->cq[i] != NULL);
	}
	CHECK((vb->mr = ibv_reg_mr(vb->pd, e->buf, BUF_BYTES, ACCESS)) != NULL);
	CHECK_OK(ibv_query_port(vb->ctx, PORT, &port));
	mine->lid = port.lid;
	mine->rkey = vb->mr->rkey;
	mine->addr = (uintptr_t)e->buf;
	for (i = 0; i < e->roles; i++) {
		if (i == e->role)
			continue;
		CHECK((vb->qp[i] = qp_create(vb)) != NULL);
		mine->qpn[i] = vb->qp[i]->qp_num;
	}
	end_exchange(e, vb->card, sizeof(*mine));
	for (i = 0; i < e->roles; i++)
		if (i != e->role)
			qp_connect(vb, e, i);
}

static void vb_open_plain(struct end *e)
{
	vb_open(e, false);
}

static void vb_open_builders(struct end *e)
{
	vb_open(e, true);
}

static void vb_close(struct end *e)
{
	struct vb *vb = e->face;
	int i;

	for (i = 0; i < e->roles; i++)
		if (vb->qp[i])
			CHECK_OK(ibv_destroy_qp(vb->qp[i]));
	CHECK_OK(ibv_dereg_mr(vb->mr));
	for (i = 0; i < QUEUES; i++)
		CHECK_OK(ibv_destroy_cq(vb->cq[i]));
	CHECK_OK(ibv_dealloc_pd(vb->pd));
	CHECK_OK(ibv_close_device(vb->ctx));
	free(vb);
}

/* ---- posts ---------------------------------------------------------- */

static int sges(const struct end *e, const struct op *op,
		struct ibv_sge sge[SGE_MAX])
{
	const struct vb *vb = e->face;
	struct iovec iov[SGE_MAX];
	unsigned int i, n = op_pieces(e, op, iov);

	for (i = 0; i < n; i++) {
		sge[i].addr = (uintptr_t)iov[i].iov_base;
		sge[i].length = (uint32_t)iov[i].iov_len;
		sge[i].lkey = vb->mr->lkey;
	}
	return (int)n;
}

static unsigned int send_flags(const struct op *op)
{
	return (op->flags & OPF_QUIET ? 0 : IBV_SEND_SIGNALED) |
	       (op->flags & OPF_INLINE ? IBV_SEND_INLINE : 0);
}

static uint32_t rkey(const struct card *other, const struct op *op)
{
	return other->rkey + (op->flags & OPF_BADKEY ? 0x100 : 0);
}

static enum ibv_wr_opcode opcode(const struct op *op)
{
	bool imm = op->flags & OPF_IMM;

	if (op->kind == OP_READ)
		return IBV_WR_RDMA_READ;
	if (op->kind == OP_WRITE)
		return imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	return imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
}

static int post_plain(struct vb *vb, const struct op *op, struct ibv_sge *sge,
		      int n)
{
	const struct card *other = &vb->card[op->peer];
	struct ibv_send_wr wr = {
		.wr_id = op->id,
		.sg_list = sge,
		.num_sge = n,
		.opcode = opcode(op),
		.send_flags = send_flags(op),
		.imm_data = htonl((uint32_t)op->imm),
		.wr.rdma = { other->addr + op->at, rkey(other, op) },
	}, *bad = NULL;
	int rc = ibv_post_send(vb->qp[op->peer], &wr, &bad);

	CHECK_EQ(bad == &wr, rc != 0);
	return -rc;
}

static void build_data(struct ibv_qp_ex *qpx, const struct op *op,
		       const struct ibv_sge *sge, int n)
{
	struct ibv_data_buf buf[SGE_MAX];
	int i;

	if (!(op->flags & OPF_INLINE)) {
		if (n == 1)
			ibv_wr_set_sge(qpx, sge->lkey, sge->addr, sge->length);
		else
			ibv_wr_set_sge_list(qpx, (size_t)n, sge);
		return;
	}
	for (i = 0; i < n; i++) {
		buf[i].addr = (void *)(uintptr_t)sge[i].addr;
		buf[i].length = sge[i].length;
	}
	if (n == 1)
		ibv_wr_set_inline_data(qpx, buf[0].addr, buf[0].length);
	else
		ibv_wr_set_inline_data_list(qpx, (size_t)n, buf);
}

static int post_builders(struct vb *vb, const struct op *op,
			 struct ibv_sge *sge, int n)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(vb->qp[op->peer]);
	const struct card *other = &vb->card[op->peer];
	uint64_t addr = other->addr + op->at;
	uint32_t key = rkey(other, op), imm = htonl((uint32_t)op->imm);

	CHECK(qpx != NULL);
	ibv_wr_start(qpx);
	qpx->wr_id = op->id;
	qpx->wr_flags = send_flags(op);
	switch (opcode(op)) {
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qpx, key, addr);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qpx, key, addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qpx, key, addr, imm);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, imm);
		break;
	default:
		ibv_wr_send(qpx);
		break;
	}
	build_data(qpx, op, sge, n);
	return -ibv_wr_complete(qpx);
}

static int vb_post(struct end *e, const struct op *op)
{
	struct vb *vb = e->face;
	struct ibv_sge sge[SGE_MAX];
	int rc, n = sges(e, op, sge);
	struct ibv_recv_wr recv = {
		.wr_id = op->id,
		.sg_list = sge,
		.num_sge = n,
	}, *bad = NULL;

	if (op->flags & (OPF_TAG | OPF_MULTI) || op->kind == OP_PEEK ||
	    op->kind == OP_CANCEL)
		return -EOPNOTSUPP;	/* nothing to say it with */
	if (op->kind != OP_RECV)
		return vb->builders ? post_builders(vb, op, sge, n) :
				      post_plain(vb, op, sge, n);
	rc = ibv_post_recv(vb->qp[op->peer], &recv, &bad);
	CHECK_EQ(bad == &recv, rc != 0);
	return -rc;
}

/* ---- completions ---------------------------------------------------- */

static enum status status_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return ST_OK;
	case IBV_WC_LOC_LEN_ERR:
		return ST_LENGTH;
	case IBV_WC_LOC_PROT_ERR:
		return ST_PROTECTION;
	case IBV_WC_WR_FLUSH_ERR:
		return ST_FLUSHED;
	case IBV_WC_REM_INV_REQ_ERR:
		return ST_REMOTE_INVALID;
	case IBV_WC_REM_ACCESS_ERR:
		return ST_REMOTE_ACCESS;
	case IBV_WC_REM_OP_ERR:
		return ST_REMOTE_OPERATION;
	case IBV_WC_RETRY_EXC_ERR:
		return ST_DEAD;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return ST_NOT_READY;
	default:
		return ST_OTHER;
	}
}

static int vb_poll(struct end *e, struct comp *c)
{
	struct vb *vb = e->face;
	struct ibv_wc wc;
	int q, i, n = 0;

	for (q = 0; q < QUEUES && !n; q++) {
		n = ibv_poll_cq(vb->cq[q], 1, &wc);
		CHECK_GE(n, 0);
		c->queue = (enum queue)q;
	}
	if (!n)
		return 0;
	c->id = wc.wr_id;
	c->status = status_of(wc.status);
	if (c->status != ST_OK || c->queue == Q_SEND)
		return 1;
	c->write = wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
	c->len = wc.byte_len;
	c->has_imm = wc.wc_flags & IBV_WC_WITH_IMM;
	c->imm = ntohl(wc.imm_data);
	for (i = 0; i < e->roles; i++)
		if (vb->qp[i] && vb->qp[i]->qp_num == wc.qp_num)
			c->from = i;
	return 1;
}

/* ---- what verbs does not have --------------------------------------- */

/* Matching by tag: a kind of SRQ, which the device does not offer. */
static int tag_refusal(struct ibv_context *ctx)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = ibv_alloc_pd(ctx),
		.cq = ibv_create_cq(ctx, 16, NULL, NULL, 0),
		.tm_cap = { .max_num_tags = 16, .max_ops = 16 },
	};
	struct ibv_device_attr_ex device;

	CHECK(attr.pd != NULL && attr.cq != NULL);
	CHECK_OK(ibv_query_device_ex(ctx, NULL, &device));
	CHECK_EQ(device.tm_caps.max_num_tags, 0);
	errno = 0;
	return ibv_create_srq_ex(ctx, &attr) ? 0 : errno;
}

/* Reliable datagrams: verbs has no number for them. */
static int rd_refusal(struct ibv_context *ctx)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = (enum ibv_qp_type)64,
	};

	CHECK(cq != NULL && pd != NULL);
	errno = 0;
	return ibv_create_qp(pd, &attr) ? 0 : errno;
}

static int vb_refusal(const char *what)
{
	struct ibv_context *ctx = device_open();

	if (!strcmp(what, "tag"))
		return tag_refusal(ctx);
	if (!strcmp(what, "rd"))
		return rd_refusal(ctx);
	return 0;
}

static const struct face face_plain = {
	.name = "verbs",
	.family = "verbs",
	.open = vb_open_plain,
	.post = vb_post,
	.poll = vb_poll,
	.close = vb_close,
	.refusal = vb_refusal,
};

static const struct face face_builders = {
	.name = "verbs-wr",
	.family = "verbs",
	.open = vb_open_builders,
	.post = vb_post,
	.poll = vb_poll,
	.close = vb_close,
	.refusal = vb_refusal,
};

const struct face *const faces[] = { &face_plain, &face_builders, NULL };

void face_program_init(void)
{
}
