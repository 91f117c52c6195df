/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting: the fast ways in. A send runs inside the call when nothing waits
 * in front of it; a receive is published and whoever waits for it is served.
 * ibv_post_send(3), ibv_post_recv(3).
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "engine/mr.h"
#include "engine/pd.h"
#include "engine/progress.h"
#include "engine/qp.h"

struct opcode_info {
	uint8_t wc;
	bool known;
	bool can_inline;
};

static const struct opcode_info opcodes[] = {
	[ROSM_WR_RDMA_WRITE] = { ROSM_WC_RDMA_WRITE, true, true },
	[ROSM_WR_RDMA_WRITE_WITH_IMM] = { ROSM_WC_RDMA_WRITE, true, true },
	[ROSM_WR_SEND] = { ROSM_WC_SEND, true, true },
	[ROSM_WR_SEND_WITH_IMM] = { ROSM_WC_SEND, true, true },
	[ROSM_WR_RDMA_READ] = { ROSM_WC_RDMA_READ, true, false },
};

_Static_assert(sizeof(opcodes) / sizeof(*opcodes) == ROSM_WR_OPCODES,
	       "one row an opcode");

/* 0 or -EINVAL; *len_out saturates above the largest message. */
static int check_wr(const struct rosm_qp *qp, const struct rosm_send_wr *wr,
		    uint32_t *len_out)
{
	uint64_t len = 0;
	uint32_t i;

	if (wr->opcode >= ROSM_WR_OPCODES || !opcodes[wr->opcode].known ||
	    wr->num_sge > qp->cap.max_send_sge)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	if (wr->flags & ROSM_SEND_INLINE) {
		if (!opcodes[wr->opcode].can_inline ||
		    len > qp->cap.max_inline_data)
			return -EINVAL;
	}
	*len_out = len > ROSM_MAX_MSG ? ROSM_MAX_MSG + 1 : (uint32_t)len;
	return 0;
}

static bool state_takes_sends(const struct rosm_qp *qp)
{
	uint32_t s = atomic_load_explicit(&qp->state, memory_order_relaxed);

	return s == ROSM_QPS_RTS || s == ROSM_QPS_SQD || s == ROSM_QPS_ERR;
}

static uint32_t sq_room(const struct rosm_qp *qp)
{
	return qp->cap.max_send_wr -
	       (qp->sq_head - atomic_load_explicit(&qp->sq_tail,
						   memory_order_acquire));
}

int rosm_qp_check_send(struct rosm_qp *qp, const struct rosm_send_wr *wr,
		       unsigned int n)
{
	unsigned int i;
	uint32_t len;
	int rc = 0;

	ru_lock_acquire(&qp->sq_lock);
	if (!state_takes_sends(qp))
		rc = -EINVAL;
	for (i = 0; !rc && i < n; i++)
		rc = check_wr(qp, &wr[i], &len);
	if (!rc && n > sq_room(qp))
		rc = -ENOMEM;
	ru_lock_release(&qp->sq_lock);
	return rc;
}

/* Inline data is taken at the post, whatever its lkey says. */
static void take_inline(const struct rosm_send_wr *wr, uint8_t *buf)
{
	uint32_t i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(buf, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		buf += wr->sg_list[i].length;
	}
}

/* True: the QP must be failed. */
static bool run_or_queue_locked(struct rosm_qp *qp, const struct rosm_op *op)
{
	uint32_t state = atomic_load_explicit(&qp->state, memory_order_relaxed);
	uint32_t index = qp->sq_head;
	int rc;

	if (state == ROSM_QPS_ERR) {
		qp->sq_head++;
		qp->sq_comp = qp->sq_head;
		/* the first one after a death says so, the rest is flushed */
		rosm_sq_complete_locked(qp, index, qp->owed ?
						   qp->owed :
						   ROSM_WC_WR_FLUSH_ERR);
		qp->owed = ROSM_WC_SUCCESS;
		return false;
	}
	if (qp->stalled) {
		rosm_sq_append_locked(qp, op);
		return state == ROSM_QPS_RTS && rosm_sq_kick_locked(qp);
	}
	rc = state == ROSM_QPS_RTS ? rosm_execute(&qp->conn, op) :
				     ROSM_STALL_STATE;
	if (rc < 0)
		return rosm_sq_stall_locked(qp, op, rc);
	qp->sq_head++;
	qp->sq_comp = qp->sq_head;
	rosm_sq_complete_locked(qp, index, (enum rosm_wc_status)rc);
	return rc != ROSM_WC_SUCCESS;
}

int rosm_qp_post_send(struct rosm_qp *qp, const struct rosm_send_wr *wr)
{
	uint8_t data[ROSM_MAX_INLINE];
	struct rosm_sqe *e;
	struct rosm_op op;
	uint32_t len;
	bool failed;
	int rc;

	ru_lock_acquire(&qp->sq_lock);
	rc = state_takes_sends(qp) ? check_wr(qp, wr, &len) : -EINVAL;
	if (!rc && !sq_room(qp))
		rc = -ENOMEM;
	if (ru_unlikely(rc)) {
		ru_lock_release(&qp->sq_lock);
		return rc;
	}
	op.opcode = (enum rosm_wr_opcode)wr->opcode;
	op.flags = wr->flags;
	op.imm = wr->imm;
	op.rkey = wr->rkey;
	op.remote_addr = wr->remote_addr;
	op.len = len;
	op.num_sge = wr->num_sge;
	op.sge = wr->sg_list;
	op.inline_data = NULL;
	op.index = qp->sq_head;
	if (wr->flags & ROSM_SEND_INLINE) {
		take_inline(wr, data);
		op.inline_data = data;
		op.num_sge = 0;
	}
	e = &qp->sq[qp->sq_head & qp->sq_mask];
	e->wr_id = wr->wr_id;
	e->len = len;
	e->wc_opcode = opcodes[wr->opcode].wc;
	e->signaled = qp->sq_sig_all || (wr->flags & ROSM_SEND_SIGNALED);
	failed = run_or_queue_locked(qp, &op);
	if (ru_unlikely(failed))
		rosm_qp_fail_send_locked(qp);
	ru_lock_release(&qp->sq_lock);
	if (ru_unlikely(failed))
		rosm_qp_fail_recv(qp);
	return 0;
}

/* Total and whether every key is good, for senders to look at once. */
static uint32_t summarise(struct rosm_qp *qp, const struct rosm_recv_wr *wr)
{
	struct rosm_peer *self = qp->inst->self;
	uint64_t len = 0, va;
	uint32_t i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct rosm_sge *s = &wr->sg_list[i];

		if (s->length &&
		    rosm_mr_check(self, s->lkey, s->addr, s->length,
				  qp->pd->number, ROSM_ACCESS_LOCAL_WRITE, &va))
			return 0;
		len += s->length;
	}
	if (len > ROSM_MAX_MSG - 1)
		len = ROSM_MAX_MSG - 1;
	return ROSM_WIRE_SUM_GOOD | (uint32_t)len;
}

static void flush_recv(struct rosm_qp *qp, uint64_t wr_id)
{
	struct rosm_wc wc;

	memset(&wc, 0, sizeof(wc));
	wc.wr_id = wr_id;
	wc.status = ROSM_WC_WR_FLUSH_ERR;
	wc.opcode = ROSM_WC_RECV;
	wc.qp_num = qp->qpn;
	rosm_cq_push(qp->recv_cq, &wc, qp, false, 0, true);
}

int rosm_qp_post_recv(struct rosm_qp *qp, const struct rosm_recv_wr *wr)
{
	struct rosm_wire_recv *r;
	_Atomic uint32_t *sums;
	uint32_t at, i, sum, state;
	int rc = 0;

	ru_lock_acquire(&qp->rq_lock);
	state = atomic_load_explicit(&qp->state, memory_order_relaxed);
	if (state == ROSM_QPS_RESET || wr->num_sge > qp->cap.max_recv_sge)
		rc = -EINVAL;
	else if (qp->rq_posted - atomic_load_explicit(&qp->rq_head,
						      memory_order_acquire) >=
		 qp->cap.max_recv_wr)
		rc = -ENOMEM;
	if (rc || state == ROSM_QPS_ERR) {
		ru_lock_release(&qp->rq_lock);
		if (!rc)
			flush_recv(qp, wr->wr_id);
		return rc;
	}
	at = qp->rq_posted & qp->rq_mask;
	qp->rq_epoch[at] = atomic_load_explicit(&qp->inst->roh->mr_epoch,
						memory_order_relaxed);
	qp->rq_wrid[at] = wr->wr_id;
	sum = summarise(qp, wr);
	r = rosm_qp_recv(qp, at);
	r->num_sge = wr->num_sge;
	r->len = sum & ~ROSM_WIRE_SUM_GOOD;
	for (i = 0; i < wr->num_sge; i++) {
		r->sge[i].addr = wr->sg_list[i].addr;
		r->sge[i].len = wr->sg_list[i].length;
		r->sge[i].lkey = wr->sg_list[i].lkey;
	}
	sums = (_Atomic uint32_t *)((char *)qp->inst->ro.base + qp->sum_off);
	atomic_store_explicit(&sums[at], sum, memory_order_relaxed);
	qp->rq_posted++;
	/* R-recv: publishes the RECV; pairs with A-recv in next_recv */
	atomic_store_explicit(&qp->d->rq_posted, qp->rq_posted,
			      memory_order_release);
	ru_lock_release(&qp->rq_lock);
	/*
	 * A-stall: the store above, then the look at who waits; the stalling
	 * side fences (R-stall), so a compiler barrier is enough here.
	 */
	if (ru_likely(qp->inst->self->fenced))
		atomic_signal_fence(memory_order_seq_cst);
	else
		ru_fence();
	if (ru_unlikely(atomic_load_explicit(&qp->inst->rwh->attn_sum,
					     memory_order_relaxed)))
		rosm_progress_attn(qp->inst);
	return 0;
}
