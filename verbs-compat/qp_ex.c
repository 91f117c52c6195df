/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_wr_*: requests are gathered between ibv_wr_start and ibv_wr_complete and
 * posted there, all or none. The batch and its data lie in one block that is
 * made with the queue pair for as many requests as the send queue holds, so
 * that building one allocates nothing. Errors of building are kept and told by
 * ibv_wr_complete (ibv_wr_post(3)).
 *
 * The lock is held from start to complete or abort: two threads may post, the
 * second waits.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "util/compiler.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct rvc_batch {
	pthread_mutex_t lock;
	int err;		/* first one since start, > 0 */
	uint32_t count;
	uint32_t depth;
	uint32_t max_sge;	/* entries of sge[] for each request, >= 1 */
	uint32_t max_inline;	/* bytes of data[] for each request */
	struct rosm_send_wr *wr;
	struct rosm_sge *sge;
	char *data;
};

static const unsigned int wr_flags =
	IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;

static struct rvc_batch *batch_of(struct ibv_qp_ex *ex)
{
	return rvc_qp(&ex->qp_base)->batch;
}

static void fail(struct rvc_batch *b, int err)
{
	if (!b->err)
		b->err = err;
}

/* ---- builders ------------------------------------------------------------ */

static struct rosm_send_wr *add(struct ibv_qp_ex *ex,
				enum rosm_wr_opcode opcode)
{
	struct rvc_batch *b = batch_of(ex);
	struct rosm_send_wr *wr;

	if (ru_unlikely(b->err))
		return NULL;
	if (ru_unlikely(b->count == b->depth)) {
		fail(b, ENOMEM);
		return NULL;
	}
	if (ru_unlikely(ex->wr_flags & ~(wr_flags | IBV_SEND_INLINE))) {
		fail(b, EINVAL);
		return NULL;
	}
	wr = &b->wr[b->count++];
	*wr = (struct rosm_send_wr){
		.wr_id = ex->wr_id,
		.opcode = opcode,
		.flags = ex->wr_flags & wr_flags,
	};
	return wr;
}

static void add_rdma(struct ibv_qp_ex *ex, enum rosm_wr_opcode opcode,
		     uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	struct rosm_send_wr *wr = add(ex, opcode);

	if (!wr)
		return;
	wr->remote_addr = remote_addr;
	wr->rkey = rkey;
	wr->imm = imm_data;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	add(ex, ROSM_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct rosm_send_wr *wr = add(ex, ROSM_WR_SEND_WITH_IMM);

	if (wr)
		wr->imm = imm_data;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey,
			  uint64_t remote_addr)
{
	add_rdma(ex, ROSM_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	add_rdma(ex, ROSM_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey,
			 uint64_t remote_addr)
{
	add_rdma(ex, ROSM_WR_RDMA_READ, rkey, remote_addr, 0);
}

/* Looks at no argument but the first: one function for all prototypes. */
static void wr_unsupported(struct ibv_qp_ex *ex)
{
	fail(batch_of(ex), EOPNOTSUPP);
}

/* ---- setters: they speak of the request built last ------------------------ */

static struct rosm_send_wr *last(struct rvc_batch *b)
{
	if (ru_unlikely(b->err))
		return NULL;
	if (ru_unlikely(!b->count)) {
		fail(b, EINVAL);
		return NULL;
	}
	return &b->wr[b->count - 1];
}

static struct rosm_sge *last_sge(struct rvc_batch *b)
{
	return &b->sge[(size_t)(b->count - 1) * b->max_sge];
}

static void set_sges(struct rvc_batch *b, struct rosm_send_wr *wr,
		     uint32_t num_sge)
{
	wr->sg_list = last_sge(b);
	wr->num_sge = num_sge;
	wr->flags &= ~(uint32_t)ROSM_SEND_INLINE;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct rvc_batch *b = batch_of(ex);
	struct rosm_send_wr *wr = last(b);

	if (!wr)
		return;
	*last_sge(b) = (struct rosm_sge){ addr, length, lkey };
	set_sges(b, wr, 1);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct rvc_batch *b = batch_of(ex);
	struct rosm_send_wr *wr = last(b);

	if (!wr)
		return;
	if (num_sge > b->max_sge) {
		fail(b, EINVAL);
		return;
	}
	if (num_sge)
		memcpy(last_sge(b), sg_list, num_sge * sizeof(*sg_list));
	set_sges(b, wr, (uint32_t)num_sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct rvc_batch *b = batch_of(ex);
	struct rosm_send_wr *wr = last(b);
	uint32_t len = 0;
	char *data;

	if (!wr)
		return;
	data = b->data + (size_t)(b->count - 1) * b->max_inline;
	for (size_t i = 0; i < num_buf; i++) {
		if (buf_list[i].length > b->max_inline - len) {
			fail(b, EINVAL);
			return;
		}
		if (!buf_list[i].length)
			continue;
		memcpy(data + len, buf_list[i].addr, buf_list[i].length);
		len += (uint32_t)buf_list[i].length;
	}
	*last_sge(b) = (struct rosm_sge){ (uintptr_t)data, len, 0 };
	set_sges(b, wr, 1);
	wr->flags |= ROSM_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr,
			       size_t length)
{
	const struct ibv_data_buf buf = { addr, length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* ---- batches ------------------------------------------------------------- */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct rvc_batch *b = batch_of(ex);

	pthread_mutex_lock(&b->lock);
	b->count = 0;
	b->err = 0;
}

/*
 * A lone request needs no look ahead. With the lock held nobody but
 * ibv_post_send of another thread can take the room that was found.
 */
static int post(struct rosm_qp *eng, const struct rvc_batch *b)
{
	int err = 0;

	if (b->count > 1)
		err = rosm_qp_check_send(eng, b->wr, b->count);
	for (uint32_t i = 0; i < b->count && !err; i++)
		err = rosm_qp_post_send(eng, &b->wr[i]);
	return -err;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct rvc_batch *b = batch_of(ex);
	int err = b->err;

	if (!err)
		err = post(rvc_qp(&ex->qp_base)->eng, b);
	pthread_mutex_unlock(&b->lock);
	return err ? rvc_err(err) : 0;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&batch_of(ex)->lock);
}

static void set_ops(struct rvc_qp *qp)
{
	void *const unsupported = (void *)wr_unsupported;
	struct ibv_qp_ex *ex = &qp->ibex;

	ex->wr_atomic_cmp_swp = unsupported;
	ex->wr_atomic_fetch_add = unsupported;
	ex->wr_bind_mw = unsupported;
	ex->wr_local_inv = unsupported;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = unsupported;
	ex->wr_send_tso = unsupported;
	ex->wr_set_ud_addr = unsupported;
	ex->wr_set_xrc_srqn = unsupported;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_write = unsupported;
	for (size_t i = 0; i < RU_ARRAY_SIZE(qp->ibex_grown); i++)
		qp->ibex_grown[i] = wr_unsupported;
}

int rvc_batch_create(struct rvc_qp *qp, const struct ibv_qp_cap *cap)
{
	size_t depth = ru_max(cap->max_send_wr, 1);
	size_t max_sge = ru_max(cap->max_send_sge, 1);
	struct rvc_batch *b;

	/* Requests, then their SGEs, then their data: alignment falls. */
	b = calloc(1, sizeof(*b) +
			      depth * (sizeof(*b->wr) +
				       max_sge * sizeof(*b->sge) +
				       cap->max_inline_data));
	if (!b)
		return -ENOMEM;
	b->depth = cap->max_send_wr;
	b->max_sge = (uint32_t)max_sge;
	b->max_inline = cap->max_inline_data;
	b->wr = (struct rosm_send_wr *)(b + 1);
	b->sge = (struct rosm_sge *)(b->wr + depth);
	b->data = (char *)(b->sge + depth * max_sge);
	pthread_mutex_init(&b->lock, NULL);
	qp->batch = b;
	set_ops(qp);
	return 0;
}

void rvc_batch_destroy(struct rvc_qp *qp)
{
	if (!qp->batch)
		return;
	pthread_mutex_destroy(&qp->batch->lock);
	free(qp->batch);
	qp->batch = NULL;
}
