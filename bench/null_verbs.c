/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD in front of any libibverbs.so.1: the devices are the real
 * ones, but posts on them are complete at once and move nothing. What a
 * program takes over it is what the program takes itself. Programs that wait
 * for bytes to change in memory (ib_write_lat) wait for ever. Never installed.
 *
 * Replaced are post_send, post_recv and poll_cq of an opened context, and the
 * wr_* calls of extended queue pairs; everything else stays the device's. A
 * library may know its contexts by their poll_cq (rosm does), so that one is
 * replaced from a post on until the next call that is the device's. One context
 * and one thread at a time.
 */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 1 << 15, CQS = 64 };

#define EXPORT	__attribute__((visibility("default")))

struct entry {
	uint64_t wr_id;
	uint32_t opcode;
	uint32_t qp_num;
	uint32_t bytes;
};

/* What is complete but not polled yet, by CQ. */
static struct pending {
	struct ibv_cq *cq;
	unsigned int head, tail;
	struct entry *entry;
} cqs[CQS];

static struct ibv_context *opened;
static int (*real_poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);

static void *next_of(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	if (!p) {
		fprintf(stderr, "null_verbs: no %s in what follows\n", name);
		exit(1);
	}
	return p;
}

static inline struct pending *pending_of(struct ibv_cq *cq)
{
	int i;

	for (i = 0; i < CQS && cqs[i].cq; i++)
		if (cqs[i].cq == cq)
			return &cqs[i];
	if (i == CQS)
		return NULL;
	cqs[i].entry = calloc(DEPTH, sizeof(struct entry));
	if (!cqs[i].entry)
		return NULL;
	cqs[i].cq = cq;
	return &cqs[i];
}

static inline int push(struct ibv_cq *cq, struct ibv_qp *qp, uint64_t wr_id,
		       uint32_t opcode, uint32_t bytes)
{
	struct pending *p = pending_of(cq);
	struct entry *e;

	if (!p || p->tail - p->head == DEPTH)
		return ENOMEM;
	opened->ops.poll_cq = poll_cq;
	e = &p->entry[p->tail++ % DEPTH];
	e->wr_id = wr_id;
	e->opcode = opcode;
	e->qp_num = qp->qp_num;
	e->bytes = bytes;
	return 0;
}

static uint32_t wc_opcode(enum ibv_wr_opcode opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	default:
		return IBV_WC_SEND;
	}
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		     struct ibv_send_wr **bad)
{
	int err = 0;

	for (; wr && !err; wr = wr->next) {
		if (!(wr->send_flags & IBV_SEND_SIGNALED))
			continue;
		err = push(qp->send_cq, qp, wr->wr_id, wc_opcode(wr->opcode),
			   wr->num_sge ? wr->sg_list[0].length : 0);
		if (err)
			*bad = wr;
	}
	return err;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		     struct ibv_recv_wr **bad)
{
	int err = 0;

	for (; wr && !err; wr = wr->next) {
		err = push(qp->recv_cq, qp, wr->wr_id, IBV_WC_RECV,
			   wr->num_sge ? wr->sg_list[0].length : 0);
		if (err)
			*bad = wr;
	}
	return err;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct pending *p = pending_of(cq);
	const struct entry *e;
	int i;

	for (i = 0; p && i < n && p->head != p->tail; i++) {
		e = &p->entry[p->head++ % DEPTH];
		memset(&wc[i], 0, sizeof(wc[i]));
		wc[i].wr_id = e->wr_id;
		wc[i].status = IBV_WC_SUCCESS;
		wc[i].opcode = e->opcode;
		wc[i].qp_num = e->qp_num;
		wc[i].byte_len = e->bytes;
	}
	return i;
}

/* ---- the calls of the device ----------------------------------------- */

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*real)(struct ibv_device *) =
		next_of("ibv_open_device");
	struct ibv_context *ctx = real(device);

	if (!ctx)
		return NULL;
	ctx->ops.post_send = post_send;
	ctx->ops.post_recv = post_recv;
	real_poll_cq = ctx->ops.poll_cq;
	opened = ctx;
	return ctx;
}

static void give_back(void)
{
	if (opened)
		opened->ops.poll_cq = real_poll_cq;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int) =
		next_of("ibv_modify_qp");

	give_back();
	return real(qp, attr, mask);
}

EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init)
{
	int (*real)(struct ibv_qp *, struct ibv_qp_attr *, int,
		    struct ibv_qp_init_attr *) = next_of("ibv_query_qp");

	give_back();
	return real(qp, attr, mask, init);
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*real)(struct ibv_qp *) = next_of("ibv_destroy_qp");

	give_back();
	return real(qp);
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	int (*real)(struct ibv_mr *) = next_of("ibv_dereg_mr");

	give_back();
	return real(mr);
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	int (*real)(struct ibv_cq *) = next_of("ibv_destroy_cq");

	give_back();
	return real(cq);
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int (*real)(struct ibv_pd *) = next_of("ibv_dealloc_pd");

	give_back();
	return real(pd);
}

EXPORT int ibv_close_device(struct ibv_context *ctx)
{
	int (*real)(struct ibv_context *) = next_of("ibv_close_device");

	give_back();
	opened = NULL;
	return real(ctx);
}

/* ---- extended queue pairs -------------------------------------------- */

static void wr_any(struct ibv_qp_ex *qpx, uint32_t opcode)
{
	struct ibv_qp *qp = &qpx->qp_base;

	if (qpx->wr_flags & IBV_SEND_SIGNALED)
		(void)push(qp->send_cq, qp, qpx->wr_id, opcode, 0);
}

static void wr_start(struct ibv_qp_ex *qpx)
{
	(void)qpx;
}

static int wr_complete(struct ibv_qp_ex *qpx)
{
	(void)qpx;
	return 0;
}

static void wr_send(struct ibv_qp_ex *qpx)
{
	wr_any(qpx, IBV_WC_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm)
{
	(void)imm;
	wr_any(qpx, IBV_WC_SEND);
}

static void wr_write(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr)
{
	(void)rkey, (void)addr;
	wr_any(qpx, IBV_WC_RDMA_WRITE);
}

static void wr_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr,
			 __be32 imm)
{
	(void)imm;
	wr_write(qpx, rkey, addr);
}

static void wr_read(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr)
{
	(void)rkey, (void)addr;
	wr_any(qpx, IBV_WC_RDMA_READ);
}

static void wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	(void)qpx, (void)lkey, (void)addr, (void)length;
}

static void wr_set_sge_list(struct ibv_qp_ex *qpx, size_t n,
			    const struct ibv_sge *list)
{
	(void)qpx, (void)n, (void)list;
}

static void wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr, size_t length)
{
	(void)qpx, (void)addr, (void)length;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t n,
				    const struct ibv_data_buf *list)
{
	(void)qpx, (void)n, (void)list;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct ibv_qp_ex *(*real)(struct ibv_qp *) = next_of("ibv_qp_to_qp_ex");
	struct ibv_qp_ex *qpx = real(qp);

	if (!qpx)
		return NULL;
	qpx->wr_start = wr_start;
	qpx->wr_complete = wr_complete;
	qpx->wr_abort = wr_start;
	qpx->wr_send = wr_send;
	qpx->wr_send_imm = wr_send_imm;
	qpx->wr_rdma_write = wr_write;
	qpx->wr_rdma_write_imm = wr_write_imm;
	qpx->wr_rdma_read = wr_read;
	qpx->wr_set_sge = wr_set_sge;
	qpx->wr_set_sge_list = wr_set_sge_list;
	qpx->wr_set_inline_data = wr_set_inline_data;
	qpx->wr_set_inline_data_list = wr_set_inline_data_list;
	return qpx;
}
