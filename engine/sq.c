/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue: completing, stalling, running what stalled.
 *
 * A WQE that cannot run at once goes into the shared queue; from then on its
 * owner and its peer may both run it, whoever gets the executor word. Results
 * go into the status array, which the owner retires in order. If an executor
 * dies while it holds the word, the connection is gone with it: the owner's
 * reaper takes the word over and flushes.
 */
#include <config.h>

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "engine/mr.h"
#include "engine/pd.h"
#include "engine/progress.h"
#include "engine/qp.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/fault.h"
#include "util/membarrier.h"

#define TURNED_AWAY_NS	50000u

/* How long a WQE may wait for a reason; 0: for ever. IBTA 9.7.5.2.8, table 45 */
static uint64_t rnr_wait_ns(const struct rosm_qp *qp)
{
	/* min_rnr_timer codes in units of 10 us; 0 stands for 655.36 ms */
	static const uint32_t ten_us[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192,
		12288, 16384, 24576, 32768, 49152,
	};
	uint32_t code = atomic_load_explicit(&qp->conn.dqp->rnr_timer,
					     memory_order_relaxed);

	if (qp->attr.rnr_retry == 7)
		return 0;
	/* retries: as many times the timer; none: one tick */
	return 1 + (uint64_t)ten_us[code & 31] * 10000 * qp->attr.rnr_retry;
}

static uint64_t peer_wait_ns(const struct rosm_qp *qp)
{
	if (!qp->attr.timeout)
		return 0;
	return (4096ull << (qp->attr.timeout & 31)) *
	       (qp->attr.retry_cnt + 1u);
}

static void set_deadline(struct rosm_qp *qp, int stall)
{
	uint64_t wait = 0;

	bool asked = stall == ROSM_STALL_PEER && !qp->conn.dst &&
		     qp->contact == -EAGAIN;

	/* asked, it answers or dies: its silence is no reason to fail */
	if (!qp->deadline_ns || qp->stall != stall ||
	    qp->stall_at != qp->sq_comp || asked) {
		qp->stall = stall;
		qp->stall_at = qp->sq_comp;
		if (stall == ROSM_STALL_RNR)
			wait = rnr_wait_ns(qp);
		else if (stall == ROSM_STALL_PEER && !asked)
			wait = peer_wait_ns(qp);
		qp->deadline_ns = wait ? ru_clock_ns() + wait : 0;
	}
	/* the timer stands at the earliest of all: ask anew each time */
	if (qp->deadline_ns && qp->send_cq->channel)
		rosm_channel_wake_at(qp->send_cq->channel, qp->deadline_ns);
}

void rosm_sq_complete_locked(struct rosm_qp *qp, uint32_t index,
			     enum rosm_wc_status status)
{
	const struct rosm_sqe *e = &qp->sq[index & qp->sq_mask];
	struct rosm_wc wc;

	if (status == ROSM_WC_SUCCESS && !e->signaled)
		return;
	memset(&wc, 0, sizeof(wc));
	wc.wr_id = e->wr_id;
	wc.status = status;
	wc.opcode = e->wc_opcode;
	wc.byte_len = e->len;
	wc.qp_num = qp->qpn;
	rosm_cq_push(qp->send_cq, &wc, qp, true, index + 1, false);
}

static struct rosm_wire_wqe *wqe_at(struct rosm_qp *qp, uint32_t index)
{
	return (void *)((char *)qp->inst->ro.base + qp->sq_off +
			(size_t)(index & qp->sq_mask) *
				atomic_load_explicit(&qp->d->sq_stride,
						     memory_order_relaxed));
}

static _Atomic uint32_t *status_at(struct rosm_qp *qp, uint32_t index)
{
	return (_Atomic uint32_t *)((char *)qp->inst->rw.base + qp->sqst_off) +
	       (index & qp->sq_mask);
}

/* Payload that fits is copied now: the peer needs no way into our memory. */
static bool store_inline(struct rosm_qp *qp, struct rosm_wire_wqe *w,
			 const struct rosm_op *op)
{
	uint32_t room = atomic_load_explicit(&qp->d->sq_stride,
					     memory_order_relaxed) -
			(uint32_t)sizeof(*w);
	uint8_t *to = (uint8_t *)w->sge;
	uint32_t i;
	uint64_t va;

	if (op->len > room || op->opcode == ROSM_WR_RDMA_READ)
		return false;
	if (op->inline_data) {
		ru_copy(to, op->inline_data, op->len);
	} else {
		for (i = 0; i < op->num_sge; i++) {
			if (!op->sge[i].length)
				continue;
			if (rosm_mr_check(qp->inst->self, op->sge[i].lkey,
					  op->sge[i].addr, op->sge[i].length,
					  qp->conn.src_pd, 0, &va))
				return false;
			ru_copy(to, (void *)(uintptr_t)va, op->sge[i].length);
			to += op->sge[i].length;
		}
	}
	w->inline_len = op->len;
	return true;
}

/* sq_head is its index; the caller has filled qp->sq[]. */
void rosm_sq_append_locked(struct rosm_qp *qp, const struct rosm_op *op)
{
	struct rosm_wire_wqe *w = wqe_at(qp, qp->sq_head);
	uint32_t i;

	w->opcode = (uint8_t)op->opcode;
	w->flags = (uint16_t)op->flags;
	w->imm = op->imm;
	w->remote_addr = op->remote_addr;
	w->rkey = op->rkey;
	w->len = op->len;
	w->inline_len = 0;
	w->num_sge = 0;
	if (op->len && !store_inline(qp, w, op)) {
		for (i = 0; i < op->num_sge; i++) {
			w->sge[i].addr = op->sge[i].addr;
			w->sge[i].len = op->sge[i].length;
			w->sge[i].lkey = op->sge[i].lkey;
		}
		w->num_sge = (uint8_t)op->num_sge;
	}
	atomic_store_explicit(status_at(qp, qp->sq_head), 0,
			      memory_order_relaxed);
	qp->sq_head++;
	/* R-sq1: publishes the WQE; pairs with A-sq1 in run_queue */
	atomic_store_explicit(&qp->d->sq_posted, qp->sq_head,
			      memory_order_release);
}

/* A WQE copied out of shared memory, so that it stays what was checked. */
struct private_op {
	struct rosm_op op;
	struct rosm_sge sge[ROSM_MAX_SGE];
	uint8_t data[4096];
};

static int load_op(const struct rosm_wire_wqe *w, uint32_t stride,
		   struct private_op *p)
{
	uint32_t n = w->num_sge, inline_len = w->inline_len;

	p->op.opcode = (enum rosm_wr_opcode)w->opcode;
	p->op.flags = w->flags;
	p->op.imm = w->imm;
	p->op.rkey = w->rkey;
	p->op.remote_addr = w->remote_addr;
	p->op.len = w->len;
	p->op.num_sge = n;
	p->op.sge = p->sge;
	p->op.inline_data = NULL;
	if (inline_len) {
		if (inline_len > sizeof(p->data) ||
		    inline_len > stride - sizeof(*w) ||
		    inline_len != p->op.len)
			return -EPROTO;
		memcpy(p->data, w->sge, inline_len);
		p->op.inline_data = p->data;
		p->op.num_sge = 0;
		return 0;
	}
	if (n > ROSM_MAX_SGE ||
	    n > (stride - sizeof(*w)) / sizeof(struct rosm_wire_sge))
		return -EPROTO;
	memcpy(p->sge, w->sge, n * sizeof(*p->sge));
	return 0;
}

/* The shared side of a send queue, checked. */
struct queue_view {
	struct rosm_wire_qp *d;
	struct rosm_wire_qpctl *ctl;
	uint8_t *wqes;
	_Atomic uint32_t *status;
	uint32_t mask;
	uint32_t stride;
};

static int view_queue(struct queue_view *v, struct rosm_peer *owner,
		      struct rosm_wire_qp *d, struct rosm_wire_qpctl *ctl)
{
	uint64_t n;

	v->d = d;
	v->ctl = ctl;
	v->mask = atomic_load_explicit(&d->sq_mask, memory_order_relaxed);
	v->stride = atomic_load_explicit(&d->sq_stride, memory_order_relaxed);
	n = (uint64_t)v->mask + 1;
	if ((n & v->mask) || v->stride < sizeof(struct rosm_wire_wqe) ||
	    v->stride > 8192 || (v->stride & 7))
		return -EPROTO;
	v->wqes = rosm_peer_ro(owner, atomic_load_explicit(
					      &d->sq_off, memory_order_relaxed),
			       n * v->stride);
	v->status = rosm_peer_rw(owner,
				 atomic_load_explicit(&d->sqst_off,
						      memory_order_relaxed),
				 n * sizeof(*v->status));
	return v->wqes && v->status ? 0 : -EPROTO;
}

/*
 * Run WQEs from the front while they can run. The executor word is ours.
 * Result: the stall of the front, or 0 when the queue is empty or failed.
 */
static int run_queue(struct queue_view *v, struct rosm_conn *c,
		     unsigned int *ran_out)
{
	uint32_t done = atomic_load_explicit(&v->ctl->sq_done,
					     memory_order_acquire);
	struct private_op p;
	int rc = 0;

	/* the owner may have left, been failed or stopped since we looked */
	if (!atomic_load_explicit(&v->d->stalled, memory_order_acquire))
		return 0;
	if (atomic_load_explicit(&v->d->state, memory_order_acquire) !=
	    ROSM_QPS_RTS + 1)
		return ROSM_STALL_STATE;
	c->taken = atomic_load_explicit(&v->ctl->rq_taken,
					memory_order_relaxed);
	c->credit = c->taken;
	for (;;) {
		/* A-sq1: pairs with R-sq1 in rosm_sq_append_locked */
		uint32_t posted = atomic_load_explicit(&v->d->sq_posted,
						       memory_order_acquire);
		uint32_t at = done & v->mask;

		if (posted == done || posted - done > v->mask + 1)
			return 0;
		if (atomic_load_explicit(&v->status[at], memory_order_relaxed))
			return 0;	/* failed: its owner flushes */
		rc = load_op((void *)(v->wqes + (size_t)at * v->stride),
			     v->stride, &p);
		p.op.index = done;
		rc = rc ? (int)ROSM_WC_GENERAL_ERR : rosm_execute(c, &p.op);
		if (rc < 0)
			return rc;
		RU_KILL_POINT("sq.ran");
		atomic_store_explicit(&v->ctl->rq_taken, c->taken,
				      memory_order_relaxed);
		if (rc == ROSM_WC_SUCCESS)
			atomic_store_explicit(&v->ctl->sq_done, ++done,
					      memory_order_relaxed);
		/* R-sq2: completes the WQE; pairs with A-sq2 in retire */
		atomic_store_explicit(&v->status[at], (uint32_t)rc + 1,
				      memory_order_release);
		++*ran_out;
		if (rc != ROSM_WC_SUCCESS)
			return 0;
	}
}

static bool take_executor(struct rosm_wire_qpctl *ctl, uint64_t who)
{
	uint64_t none = 0;

	return atomic_compare_exchange_strong_explicit(
		&ctl->executor, &none, who, memory_order_acquire,
		memory_order_relaxed);
}

static void drop_executor(struct rosm_wire_qpctl *ctl)
{
	atomic_store_explicit(&ctl->executor, 0, memory_order_release);
}

void rosm_sq_seize_locked(struct rosm_qp *qp)
{
	unsigned int tries = 0;

	for (;;) {
		uint64_t who = 0;
		struct rosm_peer *p;

		if (atomic_compare_exchange_strong_explicit(
			    &qp->ctl->executor, &who, qp->inst->who,
			    memory_order_acquire, memory_order_relaxed))
			return;
		ru_pause();
		if (++tries % 1024)
			continue;
		sched_yield();
		/* another thread of ours that assists is alive by itself */
		if (who == qp->inst->who)
			continue;
		p = rosm_peer_find(qp->inst, who);
		if (!p || rosm_peer_is_dead(p))
			atomic_compare_exchange_strong_explicit(
				&qp->ctl->executor, &who, 0,
				memory_order_acq_rel, memory_order_relaxed);
	}
}

void rosm_sq_release_locked(struct rosm_qp *qp)
{
	drop_executor(qp->ctl);
}

/* A status word that a peer wrote; anything else than a status is an error. */
static enum rosm_wc_status status_of(uint32_t word)
{
	return word - 1 <= ROSM_WC_GENERAL_ERR ?
		       (enum rosm_wc_status)(word - 1) : ROSM_WC_GENERAL_ERR;
}

/* In order; true when one failed. Leaves the stalled state when all is done. */
static bool retire_locked(struct rosm_qp *qp)
{
	bool failed = false;

	while (qp->sq_comp != qp->sq_head && !failed) {
		_Atomic uint32_t *st = status_at(qp, qp->sq_comp);
		/* A-sq2: pairs with R-sq2 in run_queue */
		uint32_t v = atomic_load_explicit(st, memory_order_acquire);

		if (!v)
			return false;
		atomic_store_explicit(st, 0, memory_order_relaxed);
		failed = status_of(v) != ROSM_WC_SUCCESS;
		rosm_sq_complete_locked(qp, qp->sq_comp++, status_of(v));
		qp->deadline_ns = 0;
	}
	return failed;
}

/* The executor word is ours: nobody runs from the queue while it closes. */
static void leave_stall_locked(struct rosm_qp *qp)
{
	struct rosm_inst *inst = qp->inst;

	qp->stalled = false;
	qp->conn.inline_left = true;
	qp->conn.inline_unknown = true;
	qp->conn.taken = atomic_load_explicit(&qp->ctl->rq_taken,
					      memory_order_relaxed);
	qp->conn.credit = qp->conn.taken;
	atomic_store_explicit(&qp->d->stalled, 0, memory_order_relaxed);
	atomic_fetch_and_explicit(&inst->roh->stalled[qp->index / 64],
				  ~(1ull << (qp->index % 64)),
				  memory_order_relaxed);
	ru_lock_acquire(&inst->busy_lock);
	ru_list_del(&qp->busy);
	atomic_fetch_sub_explicit(&inst->busy_count, 1, memory_order_relaxed);
	ru_lock_release(&inst->busy_lock);
}

static void expire_locked(struct rosm_qp *qp)
{
	enum rosm_wc_status st = qp->stall == ROSM_STALL_RNR ?
					 ROSM_WC_RNR_RETRY_EXC_ERR :
					 ROSM_WC_RETRY_EXC_ERR;

	if ((!qp->deadline_ns || ru_clock_ns() < qp->deadline_ns) &&
	    (qp->stall != ROSM_STALL_PEER || qp->conn.dst ||
	     !rosm_conn_refused(qp)))
		return;
	atomic_store_explicit(status_at(qp, qp->sq_comp), (uint32_t)st + 1,
			      memory_order_relaxed);
}

/* With the executor word; true: an error must be acted on. */
static bool turn_locked(struct rosm_qp *qp, struct queue_view *v)
{
	unsigned int ran = 0;
	int stall = run_queue(v, &qp->conn, &ran);

	if (retire_locked(qp))
		return true;
	if (stall && qp->sq_comp != qp->sq_head) {
		set_deadline(qp, stall);
		expire_locked(qp);
		if (retire_locked(qp))
			return true;
	}
	if (qp->sq_comp == qp->sq_head)
		leave_stall_locked(qp);
	return false;
}

/*
 * The other side had the executor word when we came, on the way to sleep
 * perhaps: what it runs then may not be what waits for us.
 */
static void look_again(struct rosm_cq *cq)
{
	if (cq->channel)
		rosm_channel_wake_at(cq->channel,
				     ru_clock_ns() + TURNED_AWAY_NS);
}

bool rosm_sq_kick_locked(struct rosm_qp *qp)
{
	struct queue_view v;
	bool failed;

	if (!qp->stalled)
		return false;
	if (!qp->conn.dst)
		(void)rosm_conn_forward_locked(qp);
	if (view_queue(&v, qp->inst->self, qp->d, qp->ctl))
		return false;
	/*
	 * What was appended before is seen by an executor that looks again
	 * after it dropped the word (rosm_sq_assist), or we get the word.
	 */
	ru_fence();
	if (!take_executor(qp->ctl, qp->inst->who)) {
		look_again(qp->send_cq);
		return retire_locked(qp);
	}
	failed = turn_locked(qp, &v);
	drop_executor(qp->ctl);
	return failed;
}

int rosm_sq_stall_locked(struct rosm_qp *qp, const struct rosm_op *op,
			 int stall)
{
	struct rosm_inst *inst = qp->inst;

	/* a late assistant may still hold the word, and finds nothing */
	rosm_sq_seize_locked(qp);
	qp->stalled = true;
	qp->deadline_ns = 0;
	atomic_store_explicit(&qp->ctl->sq_done, qp->sq_head,
			      memory_order_relaxed);
	atomic_store_explicit(&qp->ctl->rq_taken, qp->conn.taken,
			      memory_order_relaxed);
	rosm_sq_append_locked(qp, op);
	set_deadline(qp, stall);
	atomic_store_explicit(&qp->d->stalled, 1, memory_order_release);
	drop_executor(qp->ctl);
	atomic_fetch_or_explicit(&inst->roh->stalled[qp->index / 64],
				 1ull << (qp->index % 64),
				 memory_order_release);
	ru_lock_acquire(&inst->busy_lock);
	ru_list_add_tail(&inst->qp_busy, &qp->busy);
	atomic_fetch_add_explicit(&inst->busy_count, 1, memory_order_relaxed);
	ru_lock_release(&inst->busy_lock);
	RU_KILL_POINT("sq.stalled");
	if (qp->conn.dst)
		rosm_peer_attend(qp->conn.dst);
	/* R-stall: pairs with A-stall in rosm_qp_post_recv */
	ru_membarrier();
	return rosm_sq_kick_locked(qp);
}

/* Everything not yet complete, in order; the executor word is ours or free. */
void rosm_sq_flush_locked(struct rosm_qp *qp)
{
	while (qp->sq_comp != qp->sq_head) {
		uint32_t v = atomic_exchange_explicit(
			status_at(qp, qp->sq_comp), 0, memory_order_acquire);

		rosm_sq_complete_locked(qp, qp->sq_comp++,
					v ? status_of(v) :
					    ROSM_WC_WR_FLUSH_ERR);
	}
	if (qp->stalled)
		leave_stall_locked(qp);
}

void rosm_sq_peer_dead_locked(struct rosm_qp *qp)
{
	/* what it completed before it died is complete */
	if (qp->stalled && !retire_locked(qp) && qp->sq_comp != qp->sq_head)
		atomic_store_explicit(status_at(qp, qp->sq_comp),
				      ROSM_WC_RETRY_EXC_ERR + 1,
				      memory_order_relaxed);
}

static void tell_owner(struct rosm_peer *src, struct rosm_wire_qp *sqp)
{
	uint64_t off = atomic_load_explicit(&sqp->send_ring_off,
					    memory_order_relaxed);
	struct rosm_wire_ring *hdr = rosm_peer_rw(src, off, sizeof(*hdr));

	if (hdr)
		rosm_ring_notify(src, hdr, true);
}

/* As if that peer had asked for our calls once more; rosm_peer_attend. */
static void attend_again(struct rosm_inst *inst, const struct rosm_peer *src)
{
	uint32_t slot = rosm_wire_who_slot(src->who);

	atomic_fetch_or_explicit(&inst->rwh->attn[slot / 64],
				 1ull << slot % 64, memory_order_relaxed);
	atomic_fetch_or_explicit(&inst->rwh->attn_sum, 1ull << slot / 64,
				 memory_order_release);
}

void rosm_sq_assist(struct rosm_qp *qp, struct rosm_peer *src,
		    uint32_t src_index)
{
	struct rosm_wire_qpctl *ctl =
		(struct rosm_wire_qpctl *)((char *)src->rw +
					   ROSM_RW_QPCTL_OFF) + src_index;
	struct rosm_wire_qp *sqp =
		(struct rosm_wire_qp *)((char *)src->ro + ROSM_RO_QP_OFF) +
		src_index;
	unsigned int ran = 0;
	struct queue_view v;
	bool left = false;

	/* payload that the owner left in our ring comes before what we run */
	rosm_cq_drain(qp->recv_cq);
	ru_lock_acquire(&qp->assist_lock);
	if (qp->assist.src != src ||
	    qp->assist.src_qpn != atomic_load_explicit(&sqp->qpn,
						       memory_order_relaxed) ||
	    qp->assist.src_gen != atomic_load_explicit(&sqp->gen,
						       memory_order_relaxed))
		rosm_conn_backward(&qp->assist, qp, src, src_index);
	if (view_queue(&v, src, sqp, ctl))
		goto out;
	if (take_executor(ctl, qp->inst->who)) {
		run_queue(&v, &qp->assist, &ran);
		drop_executor(ctl);
		/* what was appended while we had the word: look again */
		ru_fence();
	} else {
		look_again(qp->recv_cq);
	}
	left = atomic_load_explicit(&sqp->stalled, memory_order_acquire) &&
	       atomic_load_explicit(&ctl->sq_done, memory_order_relaxed) !=
	       atomic_load_explicit(&sqp->sq_posted, memory_order_acquire);
	if (ran)
		tell_owner(src, sqp);
out:
	ru_lock_release(&qp->assist_lock);
	/* what still waits goes on waiting for our calls */
	if (left)
		attend_again(qp->inst, src);
}
