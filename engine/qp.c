/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation, destruction, query. The object is private; what
 * peers need lies in the descriptor and control block of the same index.
 */
#include <config.h>

#include "engine/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/assist.h"
#include "engine/ctx.h"
#include "engine/device.h"
#include "engine/directory.h"
#include "engine/hazard.h"
#include "engine/pd.h"
#include "engine/qpindex.h"
#include "util/fault.h"

static int check_init(const struct rosm_pd *pd, const struct rosm_qp_init *init)
{
	const struct rosm_device_limits *lim = rosm_device_limits();

	if (init->type != ROSM_QPT_RC)
		return init->type == ROSM_QPT_UC ||
				       init->type == ROSM_QPT_UD ||
				       init->type == ROSM_QPT_XRC_SEND ||
				       init->type == ROSM_QPT_XRC_RECV ?
			       -EOPNOTSUPP : -EINVAL;
	if (!init->send_cq || !init->recv_cq ||
	    init->send_cq->ctx != pd->ctx || init->recv_cq->ctx != pd->ctx ||
	    init->cap.max_send_wr > lim->max_qp_wr ||
	    init->cap.max_recv_wr > lim->max_qp_wr ||
	    init->cap.max_send_sge > lim->max_sge ||
	    init->cap.max_recv_sge > lim->max_sge ||
	    init->cap.max_inline_data > lim->max_inline)
		return -EINVAL;
	return 0;
}

static uint32_t at_least_one(uint32_t n)
{
	return n ? n : 1;
}

static int alloc_send_queue(struct rosm_qp *qp)
{
	struct rosm_inst *inst = qp->inst;
	uint32_t n = (uint32_t)ru_roundup_pow2(
		at_least_one(qp->cap.max_send_wr));
	uint32_t sges = qp->cap.max_send_sge *
			(uint32_t)sizeof(struct rosm_wire_sge);
	uint32_t room = ru_max(sges, qp->cap.max_inline_data);
	uint32_t stride = (uint32_t)ru_align_up(
		sizeof(struct rosm_wire_wqe) + room, RU_CACHELINE);
	int rc;

	qp->sq_mask = n - 1;
	qp->sq = calloc(n, sizeof(*qp->sq));
	if (!qp->sq)
		return -ENOMEM;
	rc = ru_shmalloc_get(&inst->ro_heap, (size_t)n * stride, RU_CACHELINE,
			     &qp->sq_off);
	if (rc)
		return rc;
	rc = ru_shmalloc_get(&inst->rw_heap, (size_t)n * sizeof(uint32_t),
			     RU_CACHELINE, &qp->sqst_off);
	if (rc)
		return rc;
	atomic_store_explicit(&qp->d->sq_off, qp->sq_off, memory_order_relaxed);
	atomic_store_explicit(&qp->d->sqst_off, qp->sqst_off,
			      memory_order_relaxed);
	atomic_store_explicit(&qp->d->sq_mask, n - 1, memory_order_relaxed);
	atomic_store_explicit(&qp->d->sq_stride, stride, memory_order_relaxed);
	return 0;
}

static int alloc_recv_queue(struct rosm_qp *qp)
{
	struct rosm_inst *inst = qp->inst;
	uint32_t n = (uint32_t)ru_roundup_pow2(
		at_least_one(qp->cap.max_recv_wr));
	uint32_t stride = (uint32_t)(sizeof(struct rosm_wire_recv) +
				     at_least_one(qp->cap.max_recv_sge) *
					     sizeof(struct rosm_wire_sge));
	int rc;

	qp->rq_mask = n - 1;
	qp->rq_stride = stride;
	qp->rq_wrid = calloc(n, sizeof(*qp->rq_wrid));
	qp->rq_epoch = calloc(n, sizeof(*qp->rq_epoch));
	if (!qp->rq_wrid || !qp->rq_epoch)
		return -ENOMEM;
	rc = ru_shmalloc_get(&inst->ro_heap, (size_t)n * stride, RU_CACHELINE,
			     &qp->rq_off);
	if (rc)
		return rc;
	rc = ru_shmalloc_get(&inst->ro_heap, (size_t)n * sizeof(uint32_t),
			     RU_CACHELINE, &qp->sum_off);
	if (rc)
		return rc;
	atomic_store_explicit(&qp->d->rq_off, qp->rq_off, memory_order_relaxed);
	atomic_store_explicit(&qp->d->sum_off, qp->sum_off,
			      memory_order_relaxed);
	atomic_store_explicit(&qp->d->rq_mask, n - 1, memory_order_relaxed);
	atomic_store_explicit(&qp->d->rq_stride, stride, memory_order_relaxed);
	return 0;
}

static void free_queues(struct rosm_qp *qp)
{
	struct rosm_inst *inst = qp->inst;

	if (qp->sq_off)
		ru_shmalloc_put(&inst->ro_heap, qp->sq_off);
	if (qp->sqst_off)
		ru_shmalloc_put(&inst->rw_heap, qp->sqst_off);
	if (qp->rq_off)
		ru_shmalloc_put(&inst->ro_heap, qp->rq_off);
	if (qp->sum_off)
		ru_shmalloc_put(&inst->ro_heap, qp->sum_off);
	free(qp->rq_epoch);
	free(qp->rq_wrid);
	free(qp->sq);
}

static void describe(struct rosm_qp *qp)
{
	struct rosm_wire_qp *d = qp->d;

	atomic_store_explicit(&d->type, qp->type, memory_order_relaxed);
	atomic_store_explicit(&d->pd, qp->pd->number, memory_order_relaxed);
	atomic_store_explicit(&d->access, 0, memory_order_relaxed);
	atomic_store_explicit(&d->dest_qpn, 0, memory_order_relaxed);
	atomic_store_explicit(&d->dest_who, 0, memory_order_relaxed);
	atomic_store_explicit(&d->rd_atomic, 0, memory_order_relaxed);
	atomic_store_explicit(&d->ring_off, qp->recv_cq->ring.off,
			      memory_order_relaxed);
	atomic_store_explicit(&d->send_ring_off, qp->send_cq->ring.off,
			      memory_order_relaxed);
	atomic_store_explicit(&d->async_bell, qp->ctx->events.bell,
			      memory_order_relaxed);
	atomic_store_explicit(&d->rq_posted, 0, memory_order_relaxed);
	atomic_store_explicit(&d->sq_posted, 0, memory_order_relaxed);
	atomic_store_explicit(&d->stalled, 0, memory_order_relaxed);
	memset(qp->ctl, 0, sizeof(*qp->ctl));
	atomic_fetch_add_explicit(&d->gen, 1, memory_order_relaxed);
	atomic_store_explicit(&d->state, ROSM_QPS_RESET + 1,
			      memory_order_relaxed);
}

/* Undo whatever of a creation was done; also the end of a destruction. */
static void dismantle(struct rosm_qp *qp)
{
	if (qp->qpn) {
		rosm_dir_remove(qp->inst->dir, ROSM_DIR_T_QPN, qp->qpn,
				qp->inst->who);
		atomic_store_explicit(&qp->d->qpn, 0, memory_order_release);
	}
	if (qp->d) {
		atomic_store_explicit(&qp->d->state, 0, memory_order_release);
		rosm_hazard_drain_qp(qp->inst, qp->index);
		rosm_assist_fini(qp);
		free_queues(qp);
		rosm_qpindex_free(qp->inst, qp->index);
	}
	free(qp);
}

int rosm_qp_create(struct rosm_pd *pd, struct rosm_qp_init *init,
		   struct rosm_qp **qp_out)
{
	struct rosm_inst *inst = pd->ctx->inst;
	struct rosm_qp *qp;
	uint32_t index;
	int rc;

	rc = check_init(pd, init);
	if (rc)
		return rc;
	qp = RU_FAIL_POINT("qp.alloc") ? NULL : calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	ru_list_init(&qp->failed);
	ru_list_init(&qp->busy);
	ru_lock_init(&qp->sq_lock);
	ru_lock_init(&qp->rq_lock);
	ru_lock_init(&qp->assist_lock);
	qp->ctx = pd->ctx;
	qp->inst = inst;
	qp->pd = pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->type = init->type;
	qp->sq_sig_all = init->sq_sig_all;
	qp->cookie = init->cookie;
	qp->cap = init->cap;
	rc = rosm_qpindex_alloc(inst, NULL, &index);
	if (rc)
		goto fail;
	qp->index = index;
	qp->d = &inst->qpd[index];
	qp->ctl = &inst->qpc[index];
	rc = alloc_send_queue(qp);
	if (!rc)
		rc = alloc_recv_queue(qp);
	if (rc)
		goto fail;
	describe(qp);
	rc = rosm_dir_new_qpn(inst->dir, inst->who, index, &qp->qpn);
	if (rc)
		goto fail;
	RU_KILL_POINT("qp.named");
	inst->qps[index] = qp;
	/* R-qp: publishes the descriptor; pairs with A-qp in find_index */
	atomic_store_explicit(&qp->d->qpn, qp->qpn, memory_order_release);
	atomic_fetch_add(&qp->send_cq->refs, 1);
	atomic_fetch_add(&qp->recv_cq->refs, 1);
	rosm_pd_hold(pd);
	init->cap = qp->cap;
	*qp_out = qp;
	return 0;

fail:
	dismantle(qp);
	return rc;
}

int rosm_qp_destroy(struct rosm_qp *qp)
{
	struct rosm_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;
	struct rosm_pd *pd = qp->pd;

	rosm_qp_discard(qp);
	/* whoever serves may have found it in the table */
	pthread_mutex_lock(&qp->inst->serve_lock);
	ru_lock_acquire(&recv_cq->lock);
	qp->inst->qps[qp->index] = NULL;
	ru_lock_release(&recv_cq->lock);
	pthread_mutex_unlock(&qp->inst->serve_lock);
	rosm_event_forget(&qp->ctx->events, qp);
	dismantle(qp);
	atomic_fetch_sub(&send_cq->refs, 1);
	atomic_fetch_sub(&recv_cq->refs, 1);
	rosm_pd_drop(pd);
	return 0;
}

int rosm_qp_query(struct rosm_qp *qp, struct rosm_qp_attr *attr_out,
		  struct rosm_qp_init *init_out)
{
	if (attr_out) {
		ru_lock_acquire(&qp->sq_lock);
		*attr_out = qp->attr;
		ru_lock_release(&qp->sq_lock);
		attr_out->qp_state = atomic_load(&qp->state);
		attr_out->cur_qp_state = attr_out->qp_state;
		attr_out->cap = qp->cap;
	}
	if (init_out) {
		init_out->type = qp->type;
		init_out->send_cq = qp->send_cq;
		init_out->recv_cq = qp->recv_cq;
		init_out->cap = qp->cap;
		init_out->sq_sig_all = qp->sq_sig_all;
		init_out->cookie = qp->cookie;
	}
	return 0;
}

uint32_t rosm_qp_num(const struct rosm_qp *qp)
{
	return qp->qpn;
}

enum rosm_qp_state rosm_qp_state(const struct rosm_qp *qp)
{
	return (enum rosm_qp_state)atomic_load_explicit(&qp->state,
							memory_order_relaxed);
}
