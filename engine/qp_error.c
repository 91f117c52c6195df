/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of a queue pair into ERR, RESET or away: stop everybody who may be
 * executing on it, then flush or drop what is queued. Slow side of the
 * hazard and state orders.
 */
#include <config.h>

#include <string.h>

#include "engine/assist.h"
#include "engine/ctx.h"
#include "engine/hazard.h"
#include "engine/qp.h"

static void set_state(struct rosm_qp *qp, enum rosm_qp_state state)
{
	atomic_store_explicit(&qp->state, state, memory_order_release);
	/* R-state: pairs with A-state in rosm_conn_ready */
	atomic_store_explicit(&qp->d->state, (uint32_t)state + 1,
			      memory_order_release);
}

void rosm_qp_fail_send_locked(struct rosm_qp *qp)
{
	if (atomic_load_explicit(&qp->state, memory_order_relaxed) <
	    ROSM_QPS_INIT)
		return;
	set_state(qp, ROSM_QPS_ERR);
	rosm_sq_seize_locked(qp);
	rosm_sq_flush_locked(qp);
	rosm_sq_release_locked(qp);
}

static void flush_recvs_locked(struct rosm_qp *qp)
{
	struct rosm_wc wc;
	uint32_t head;

	memset(&wc, 0, sizeof(wc));
	wc.status = ROSM_WC_WR_FLUSH_ERR;
	wc.opcode = ROSM_WC_RECV;
	wc.qp_num = qp->qpn;
	for (;;) {
		head = atomic_load_explicit(&qp->rq_head,
					    memory_order_relaxed);
		if (head == qp->rq_posted)
			return;
		wc.wr_id = qp->rq_wrid[head & qp->rq_mask];
		atomic_store_explicit(&qp->rq_head, head + 1,
				      memory_order_release);
		rosm_cq_push(qp->recv_cq, &wc, qp, false, 0, true);
	}
}

void rosm_qp_fail_recv(struct rosm_qp *qp)
{
	/* after this no peer publishes to us any more */
	rosm_hazard_drain_qp(qp->inst, qp->index);
	ru_lock_acquire(&qp->rq_lock);
	ru_lock_acquire(&qp->recv_cq->lock);
	rosm_cq_drain_locked(qp->recv_cq);
	ru_list_del(&qp->failed);
	ru_lock_release(&qp->recv_cq->lock);
	flush_recvs_locked(qp);
	ru_lock_release(&qp->rq_lock);
}

void rosm_qp_fail(struct rosm_qp *qp, int event)
{
	uint32_t state;

	ru_lock_acquire(&qp->sq_lock);
	state = atomic_load_explicit(&qp->state, memory_order_relaxed);
	if (state == ROSM_QPS_RESET ||
	    (state == ROSM_QPS_ERR && qp->rq_fault == ROSM_WC_SUCCESS)) {
		ru_lock_release(&qp->sq_lock);
		return;
	}
	rosm_qp_fail_send_locked(qp);
	ru_lock_release(&qp->sq_lock);
	rosm_qp_fail_recv(qp);
	if (event >= 0)
		rosm_event_push(&qp->ctx->events, (enum rosm_event_type)event,
				qp, qp->cookie);
}

/* Arrivals of this QP that nobody will want. */
static void drop_arrivals_locked(struct rosm_qp *qp)
{
	struct rosm_cq *cq = qp->recv_cq;
	uint64_t pos, end = cq->ring.head + cq->ring.mask + 1;

	for (pos = cq->ring.head; pos != end; pos++) {
		struct rosm_wire_slot *slot =
			&cq->ring.slots[pos & cq->ring.mask];
		uint64_t word = atomic_load_explicit(&slot->word,
						     memory_order_acquire);

		if (rosm_slot_word_state(word) == ROSM_SLOT_PUBLISHED &&
		    rosm_slot_word_lap(word) ==
			    (pos >> cq->ring.log2 & ROSM_SLOT_LAP_MASK) &&
		    slot->qpn == qp->qpn)
			slot->kind = ROSM_SLOT_NONE;
	}
}

void rosm_qp_discard(struct rosm_qp *qp)
{
	ru_lock_acquire(&qp->sq_lock);
	set_state(qp, ROSM_QPS_RESET);
	rosm_sq_seize_locked(qp);
	/* completions that this makes are dropped right below */
	rosm_sq_flush_locked(qp);
	rosm_sq_release_locked(qp);
	ru_lock_release(&qp->sq_lock);

	rosm_hazard_drain_qp(qp->inst, qp->index);

	ru_lock_acquire(&qp->send_cq->lock);
	rosm_cq_forget_locked(qp->send_cq, qp);
	ru_lock_release(&qp->send_cq->lock);
	ru_lock_acquire(&qp->rq_lock);
	ru_lock_acquire(&qp->recv_cq->lock);
	drop_arrivals_locked(qp);
	rosm_cq_forget_locked(qp->recv_cq, qp);
	ru_list_del(&qp->failed);
	qp->rq_fault = ROSM_WC_SUCCESS;
	qp->rq_posted = 0;
	atomic_store_explicit(&qp->rq_head, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->d->rq_posted, 0, memory_order_relaxed);
	ru_lock_release(&qp->recv_cq->lock);
	ru_lock_release(&qp->rq_lock);

	ru_lock_acquire(&qp->sq_lock);
	qp->sq_head = 0;
	qp->sq_comp = 0;
	qp->owed = ROSM_WC_SUCCESS;
	atomic_store_explicit(&qp->sq_tail, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->d->sq_posted, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->ctl->sq_done, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->ctl->rq_taken, 0, memory_order_relaxed);
	memset(&qp->conn, 0, sizeof(qp->conn));
	ru_lock_release(&qp->sq_lock);
	rosm_assist_fini(qp);
	ru_lock_acquire(&qp->assist_lock);
	memset(&qp->assist, 0, sizeof(qp->assist));
	ru_lock_release(&qp->assist_lock);
}
