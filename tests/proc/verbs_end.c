/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See verbs_end.h.
 */
#include <config.h>

#include "tests/proc/verbs_end.h"

#include <stdlib.h>
#include <string.h>

#include "tests/lib/assert.h"

enum { PORT = 1, ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_READ };

struct ibv_context *end_device(void)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	int i, n;

	list = ibv_get_device_list(&n);
	CHECK(list != NULL);
	for (i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "rosm0"))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	CHECK(ctx != NULL);
	return ctx;
}

static struct ibv_qp *make_qp(struct end *e, unsigned int flags)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.cap = { END_DEPTH, END_DEPTH, END_SGE, END_SGE, END_INLINE },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = (flags & END_SIG_ALL) != 0,
		.pd = e->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	if (flags & END_WR) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND |
				      IBV_QP_EX_WITH_SEND_WITH_IMM |
				      IBV_QP_EX_WITH_RDMA_WRITE |
				      IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
				      IBV_QP_EX_WITH_RDMA_READ;
	}
	return ibv_create_qp_ex(e->ctx, &attr);
}

void end_open(struct end *e, size_t size, unsigned int flags)
{
	memset(e, 0, sizeof(*e));
	e->ctx = end_device();
	e->pd = ibv_alloc_pd(e->ctx);
	CHECK(e->pd != NULL);
	if (flags & END_CHANNEL) {
		e->channel = ibv_create_comp_channel(e->ctx);
		CHECK(e->channel != NULL);
	}
	e->cq = ibv_create_cq(e->ctx, 4 * END_DEPTH, e, e->channel, 0);
	CHECK(e->cq != NULL);
	e->size = size;
	CHECK_OK(posix_memalign((void **)&e->buf, 4096, size));
	memset(e->buf, 0, size);
	e->mr = ibv_reg_mr(e->pd, e->buf, size, ALL_ACCESS);
	CHECK(e->mr != NULL);
	e->qp = make_qp(e, flags);
	CHECK(e->qp != NULL);
	e->qpx = ibv_qp_to_qp_ex(e->qp);
	CHECK_EQ(e->qpx != NULL, (flags & END_WR) != 0);
	CHECK_EQ(e->qp->state, IBV_QPS_RESET);
}

void end_close(struct end *e)
{
	CHECK_OK(ibv_destroy_qp(e->qp));
	CHECK_OK(ibv_dereg_mr(e->mr));
	CHECK_OK(ibv_destroy_cq(e->cq));
	if (e->channel)
		CHECK_OK(ibv_destroy_comp_channel(e->channel));
	CHECK_OK(ibv_dealloc_pd(e->pd));
	CHECK_OK(ibv_close_device(e->ctx));
	free(e->buf);
}

void end_to_init(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = ALL_ACCESS,
	};

	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	CHECK_EQ(e->qp->state, IBV_QPS_INIT);
}

void end_to_rtr(struct end *e, uint32_t dest_qpn, uint16_t dlid)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = dest_qpn,
		.rq_psn = 17,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = dlid, .port_num = PORT },
	};

	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV |
				     IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				     IBV_QP_MAX_DEST_RD_ATOMIC));
	CHECK_EQ(e->qp->state, IBV_QPS_RTR);
}

void end_to_rts(struct end *e)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = 17,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	CHECK_OK(ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
	CHECK_EQ(e->qp->state, IBV_QPS_RTS);
}

void end_connect(struct end *e, struct mp *mp, int peer)
{
	struct card {
		uint64_t addr;
		uint32_t rkey, qpn;
		uint16_t lid;
	} mine = { 0 }, theirs;
	struct ibv_port_attr port;
	char byte = 0;

	CHECK_OK(ibv_query_port(e->ctx, PORT, &port));
	mine.addr = (uintptr_t)e->buf;
	mine.rkey = e->mr->rkey;
	mine.qpn = e->qp->qp_num;
	mine.lid = port.lid;
	mp_send(mp, peer, &mine, sizeof(mine));
	CHECK_EQ(mp_recv(mp, peer, &theirs, sizeof(theirs)), sizeof(theirs));
	e->peer_addr = theirs.addr;
	e->peer_rkey = theirs.rkey;
	e->peer_qpn = theirs.qpn;
	end_to_init(e);
	end_to_rtr(e, theirs.qpn, theirs.lid);
	end_to_rts(e);
	mp_send(mp, peer, &byte, 1);
	mp_recv(mp, peer, &byte, 1);
}

void end_poll(struct end *e, struct ibv_wc *wc)
{
	uint64_t end_ns = mp_now_ns() + END_POLL_S * UINT64_C(1000000000);
	int n;

	memset(wc, 0xee, sizeof(*wc));
	do {
		n = ibv_poll_cq(e->cq, 1, wc);
	} while (!n && mp_now_ns() < end_ns);
	CHECK_EQ(n, 1);
}

void end_poll_good(struct end *e, uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	end_poll(e, &wc);
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, wr_id);
	CHECK_EQ(wc.opcode, opcode);
	CHECK_EQ(wc.qp_num, e->qp->qp_num);
}

int end_try_recv(struct end *e, uint64_t wr_id, size_t offset, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + offset, len, e->mr->lkey };
	struct ibv_recv_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad = NULL;
	int err = ibv_post_recv(e->qp, &wr, &bad);

	CHECK_EQ(err != 0, bad == &wr);
	return err;
}

void end_recv(struct end *e, uint64_t wr_id, size_t offset, uint32_t len)
{
	CHECK_OK(end_try_recv(e, wr_id, offset, len));
}

void end_post(struct end *e, uint64_t wr_id, enum ibv_wr_opcode opcode,
	      size_t offset, uint32_t len, uint32_t imm, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + offset, len, e->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | flags,
		.imm_data = imm,
		.wr.rdma = { e->peer_addr + offset, e->peer_rkey },
	}, *bad = NULL;

	CHECK_OK(ibv_post_send(e->qp, &wr, &bad));
	CHECK(bad == NULL);
}
