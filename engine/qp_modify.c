/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_modify_qp(3): all checks first, then all changes. IBTA 11.2.5.2.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "engine/ctx.h"
#include "engine/device.h"
#include "engine/peer.h"
#include "engine/progress.h"
#include "engine/qp.h"
#include "engine/qp_state.h"
#include "util/fault.h"

#define MTU_4096	5u

static int check_values(const struct rosm_qp_attr *a, uint32_t mask)
{
	const struct rosm_device_limits *lim = rosm_device_limits();
	uint32_t access = ROSM_ACCESS_LOCAL_WRITE | ROSM_ACCESS_REMOTE_WRITE |
			  ROSM_ACCESS_REMOTE_READ | ROSM_ACCESS_REMOTE_ATOMIC;

	if (((mask & ROSM_QP_PORT) && a->port_num != 1) ||
	    ((mask & ROSM_QP_PKEY_INDEX) && a->pkey_index) ||
	    ((mask & ROSM_QP_ACCESS_FLAGS) && (a->qp_access_flags & ~access)) ||
	    ((mask & ROSM_QP_PATH_MTU) &&
	     (a->path_mtu < 1 || a->path_mtu > MTU_4096)) ||
	    ((mask & ROSM_QP_DEST_QPN) && a->dest_qp_num >> 24) ||
	    ((mask & ROSM_QP_RQ_PSN) && a->rq_psn >> 24) ||
	    ((mask & ROSM_QP_SQ_PSN) && a->sq_psn >> 24) ||
	    ((mask & ROSM_QP_MAX_QP_RD_ATOMIC) &&
	     a->max_rd_atomic > lim->max_rd_atomic) ||
	    ((mask & ROSM_QP_MAX_DEST_RD_ATOMIC) &&
	     a->max_dest_rd_atomic > lim->max_rd_atomic) ||
	    ((mask & ROSM_QP_MIN_RNR_TIMER) && a->min_rnr_timer > 31) ||
	    ((mask & ROSM_QP_TIMEOUT) && a->timeout > 31) ||
	    ((mask & ROSM_QP_RETRY_CNT) && a->retry_cnt > 7) ||
	    ((mask & ROSM_QP_RNR_RETRY) && a->rnr_retry > 7))
		return -EINVAL;
	if ((mask & ROSM_QP_AV) &&
	    ((a->ah.port_num && a->ah.port_num != 1) || a->ah.sl > 15 ||
	     (a->ah.is_global && a->ah.grh.sgid_index)))
		return -EINVAL;
	return 0;
}

/* An alternate path has no second port to migrate to: accepted, kept. */
static void store_values(struct rosm_qp *qp, const struct rosm_qp_attr *a,
			 uint32_t mask)
{
	struct rosm_qp_attr *t = &qp->attr;

#define KEEP(bit, field)						\
	do {								\
		if (mask & (bit))					\
			t->field = a->field;				\
	} while (0)
	KEEP(ROSM_QP_PKEY_INDEX, pkey_index);
	KEEP(ROSM_QP_PORT, port_num);
	KEEP(ROSM_QP_ACCESS_FLAGS, qp_access_flags);
	KEEP(ROSM_QP_QKEY, qkey);
	KEEP(ROSM_QP_AV, ah);
	KEEP(ROSM_QP_PATH_MTU, path_mtu);
	KEEP(ROSM_QP_TIMEOUT, timeout);
	KEEP(ROSM_QP_RETRY_CNT, retry_cnt);
	KEEP(ROSM_QP_RNR_RETRY, rnr_retry);
	KEEP(ROSM_QP_RQ_PSN, rq_psn);
	KEEP(ROSM_QP_SQ_PSN, sq_psn);
	KEEP(ROSM_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	KEEP(ROSM_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	KEEP(ROSM_QP_MIN_RNR_TIMER, min_rnr_timer);
	KEEP(ROSM_QP_ALT_PATH, alt_ah);
	KEEP(ROSM_QP_ALT_PATH, alt_pkey_index);
	KEEP(ROSM_QP_ALT_PATH, alt_port_num);
	KEEP(ROSM_QP_ALT_PATH, alt_timeout);
	KEEP(ROSM_QP_PATH_MIG_STATE, path_mig_state);
	KEEP(ROSM_QP_DEST_QPN, dest_qp_num);
	KEEP(ROSM_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
#undef KEEP
	atomic_store_explicit(&qp->d->access, t->qp_access_flags,
			      memory_order_relaxed);
	atomic_store_explicit(&qp->d->rnr_timer, t->min_rnr_timer,
			      memory_order_relaxed);
	atomic_store_explicit(&qp->d->rd_atomic, t->max_dest_rd_atomic,
			      memory_order_relaxed);
	atomic_store_explicit(&qp->d->mtu, t->path_mtu ? 128u << t->path_mtu :
							 0,
			      memory_order_relaxed);
	atomic_store_explicit(&qp->d->dest_qpn, t->dest_qp_num,
			      memory_order_relaxed);
}

/* A peer that is not there yet is looked for again when something is sent. */
static void connect_locked(struct rosm_qp *qp)
{
	(void)rosm_conn_forward_locked(qp);
}

static void reset(struct rosm_qp *qp)
{
	rosm_qp_discard(qp);
	rosm_event_forget(&qp->ctx->events, qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->contact = 0;
	store_values(qp, &qp->attr, 0);
	atomic_store_explicit(&qp->d->dest_who, 0, memory_order_relaxed);
	atomic_store_explicit(&qp->ctl->nak, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&qp->d->gen, 1, memory_order_release);
}

static void publish_state(struct rosm_qp *qp, enum rosm_qp_state to)
{
	atomic_store_explicit(&qp->state, to, memory_order_release);
	/* R-state: pairs with A-state in rosm_conn_ready */
	atomic_store_explicit(&qp->d->state, (uint32_t)to + 1,
			      memory_order_release);
	RU_KILL_POINT("qp.state");
}

/* SQD is reached when what had begun is over: every WQE here has or has not. */
static void tell_drained(struct rosm_qp *qp)
{
	if (qp->attr.en_sqd_async_notify)
		rosm_event_push(&qp->ctx->events, ROSM_EVENT_SQ_DRAINED, qp,
				qp->cookie);
}

int rosm_qp_modify(struct rosm_qp *qp, const struct rosm_qp_attr *attr,
		   uint32_t mask)
{
	enum rosm_qp_state from, to;
	bool failed = false;
	int rc;

	ru_lock_acquire(&qp->sq_lock);
	from = rosm_qp_state(qp);
	to = mask & ROSM_QP_STATE ? (enum rosm_qp_state)attr->qp_state : from;
	if ((mask & ROSM_QP_CUR_STATE) && attr->cur_qp_state != from)
		rc = -EINVAL;
	else
		rc = rosm_qp_step(qp->type, from, to, mask);
	if (!rc)
		rc = check_values(attr, mask);
	if (rc || to == ROSM_QPS_RESET || to == ROSM_QPS_ERR) {
		ru_lock_release(&qp->sq_lock);
		if (!rc && to == ROSM_QPS_RESET)
			reset(qp);
		else if (!rc)
			rosm_qp_fail(qp, -1);
		return rc;
	}
	store_values(qp, attr, mask);
	if (from == ROSM_QPS_INIT && to == ROSM_QPS_RTR)
		connect_locked(qp);
	/* out of RTS: what an assistant has begun comes to its end first */
	if (from != to && to == ROSM_QPS_SQD)
		rosm_sq_seize_locked(qp);
	if (from != to)
		publish_state(qp, to);
	if (from != to && to == ROSM_QPS_SQD)
		rosm_sq_release_locked(qp);
	if (to == ROSM_QPS_RTS && qp->stalled)
		failed = rosm_sq_kick_locked(qp);
	if (failed)
		rosm_qp_fail_send_locked(qp);
	ru_lock_release(&qp->sq_lock);
	if (failed)
		rosm_qp_fail_recv(qp);
	if (from == ROSM_QPS_RTS && to == ROSM_QPS_SQD)
		tell_drained(qp);
	/* whoever waits for this QP to become ready */
	rosm_progress(qp->inst);
	return 0;
}
