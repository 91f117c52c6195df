/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: the object in its owner's process, and the connection that
 * whoever executes a WQE works through.
 *
 * Locks: sq_lock guards the send side (sq_*, conn, stalled), rq_lock the
 * posting side of the receive queue; rq_head belongs to the receive CQ's
 * lock. Order: sq_lock, rq_lock, cq->lock. assist_lock: the view through
 * which this process runs its peer's stalled send queue; taken alone.
 */
#ifndef ROSM_QP_H
#define ROSM_QP_H

#include "engine/cq.h"
#include "engine/move/bounce.h"
#include "engine/move/pace.h"
#include "engine/ring.h"
#include "engine/rosm.h"
#include "engine/wire/qp.h"

#include <errno.h>

#define ROSM_MAX_SGE	30u
#define ROSM_MAX_MSG	(1u << 31)
#define ROSM_MAX_INLINE	512u
#define ROSM_SUM_CACHE	64u

/* Why a WQE could not run; negative results of rosm_execute. */
enum rosm_stall {
	ROSM_STALL_RNR = -1,	/* no RECV posted */
	ROSM_STALL_RING = -2,	/* arrival ring full */
	ROSM_STALL_PEER = -3,	/* the other QP is not (yet) ready */
	ROSM_STALL_ASSIST = -4,	/* the other process must copy */
	ROSM_STALL_STATE = -5,	/* its own QP is in SQD */
};

/*
 * One direction of a connection, as an executor sees it: from the QP whose
 * WQEs run (src) to the QP they act on (dst). One of the two peers is this
 * process.
 */
struct rosm_conn {
	struct rosm_inst *inst;		/* the executor */
	struct rosm_qp *owner;		/* of the WQEs, if it is ours */
	struct rosm_peer *src;
	struct rosm_peer *dst;
	struct rosm_wire_qp *dqp;	/* dst's descriptor */
	struct rosm_wire_qpctl *dctl;
	struct rosm_wire_qp *sqp;	/* src's */
	struct rosm_wire_qpctl *sctl;
	uint32_t src_qpn;
	uint32_t src_gen;
	uint32_t src_pd;
	uint32_t dst_qpn;
	uint32_t dst_index;
	uint32_t dst_gen;
	uint32_t dst_pd;
	bool up;			/* dst seen ready and ours */
	struct rosm_ring_tx tx;		/* dst's arrival ring */
	uint8_t *rq;			/* dst's RECVs */
	uint32_t rq_mask;
	uint32_t rq_stride;
	_Atomic uint32_t *sums;
	uint32_t taken;			/* RECVs consumed */
	uint32_t credit;		/* taken may grow up to here */
	uint32_t unsure;		/* RECVs before this: check the keys */
	uint64_t epoch;			/* dst's mr_epoch when credit was read */
	uint64_t inline_pos;		/* of the last payload left in a slot */
	struct rosm_pace pace[ROSM_PACE_CLASSES];
	bool inline_left;
	bool inline_unknown;		/* others ran WQEs of ours meanwhile */
	uint64_t bounce_ns;		/* nothing moved since then, or 0 */
	bool bounce_open;		/* assist.c */
	uint32_t bounce_index;
	struct rosm_bounce bounce;
	uint32_t sum[ROSM_SUM_CACHE];
};

/* One WQE, wherever it comes from. */
struct rosm_op {
	enum rosm_wr_opcode opcode;
	uint32_t flags;
	uint32_t imm;
	uint32_t rkey;
	uint64_t remote_addr;
	uint32_t len;
	uint32_t num_sge;
	const struct rosm_sge *sge;
	const void *inline_data;	/* instead of sge */
	uint32_t index;			/* in the send queue */
};

struct rosm_sqe {
	uint64_t wr_id;
	uint32_t len;
	uint8_t wc_opcode;
	bool signaled;
};

struct rosm_qp {
	struct ru_list failed;		/* recv_cq->failed */
	struct ru_list busy;		/* inst->qp_busy */
	struct rosm_ctx *ctx;
	struct rosm_inst *inst;
	struct rosm_pd *pd;
	struct rosm_cq *send_cq;
	struct rosm_cq *recv_cq;
	struct rosm_wire_qp *d;
	struct rosm_wire_qpctl *ctl;
	uint32_t qpn;
	uint32_t index;
	enum rosm_qp_type type;
	_Atomic uint32_t state;
	struct rosm_qp_attr attr;	/* as set */
	struct rosm_qp_cap cap;
	bool sq_sig_all;
	void *cookie;

	struct ru_lock sq_lock;
	struct rosm_sqe *sq;
	uint32_t sq_mask;
	uint32_t sq_head;		/* posted */
	uint32_t sq_comp;		/* completed */
	_Atomic uint32_t sq_tail;	/* free again */
	bool stalled;			/* WQEs sq_comp..sq_head are shared */
	enum rosm_wc_status owed;	/* root cause that no WQE has told */
	int contact;			/* of the last rosm_conn_forward() */
	int stall;			/* enum rosm_stall of the first */
	uint32_t stall_at;		/* its index */
	uint64_t deadline_ns;		/* 0: none */
	uint64_t sq_off;
	uint64_t sqst_off;
	uint64_t xfer_off;		/* assist.c; what peers see is a copy */
	struct rosm_conn conn;

	struct ru_lock rq_lock;
	uint64_t *rq_wrid;
	uint64_t *rq_epoch;		/* own mr_epoch at the post */
	uint32_t rq_mask;
	uint32_t rq_posted;
	_Atomic uint32_t rq_head;	/* delivered */
	uint32_t rq_stride;
	uint64_t rq_off;
	uint64_t sum_off;
	enum rosm_wc_status rq_fault;	/* status that put it in error */

	struct ru_lock assist_lock;
	struct rosm_conn assist;	/* peer -> us */
};

/* ---- qp_connect.c ---- */
/*
 * Look for the QP that qp is connected to and set qp->conn: 0, or -errno of
 * rosm_peer_get, also kept in qp->contact. Under sq_lock.
 */
int rosm_conn_forward_locked(struct rosm_qp *qp);
/* It lives, or died, but will not be reached: what was sent to it fails. */
static inline bool rosm_conn_refused(const struct rosm_qp *qp)
{
	return qp->contact == -EACCES || qp->contact == -EPROTO ||
	       qp->contact == -ECONNABORTED;
}
/* For WQEs of qp's peer, run here. */
int rosm_conn_backward(struct rosm_conn *c, struct rosm_qp *qp,
		       struct rosm_peer *src, uint32_t src_index);
/* After naming the QP in the hazard line: may something be done to dst? */
bool rosm_conn_ready(struct rosm_conn *c);

/* ---- requester.c ---- */
/* A rosm_wc_status when it ran, a rosm_stall when it could not. */
int rosm_execute(struct rosm_conn *c, const struct rosm_op *op);

/* ---- sq.c ---- */
/* All under sq_lock. */
void rosm_sq_complete_locked(struct rosm_qp *qp, uint32_t index,
			     enum rosm_wc_status status);
int rosm_sq_stall_locked(struct rosm_qp *qp, const struct rosm_op *op,
			 int stall);
void rosm_sq_append_locked(struct rosm_qp *qp, const struct rosm_op *op);
/* Run what waits, retire what was run; true: an error must be acted on. */
bool rosm_sq_kick_locked(struct rosm_qp *qp);
void rosm_sq_flush_locked(struct rosm_qp *qp);
/* What waits for a dead peer fails, the first with RETRY_EXC_ERR. */
void rosm_sq_peer_dead_locked(struct rosm_qp *qp);
/*
 * Become the only executor: waits for a living one's transfer, pushes a dead
 * one aside. Under sq_lock; the loop is bounded by the other's life.
 */
void rosm_sq_seize_locked(struct rosm_qp *qp);
void rosm_sq_release_locked(struct rosm_qp *qp);
/* Run the waiting send queue of the peer of qp from here. */
void rosm_sq_assist(struct rosm_qp *qp, struct rosm_peer *src,
		    uint32_t src_index);

/* ---- qp_error.c ---- */
/* To ERR with all that follows; no lock held. event: < 0 none. */
void rosm_qp_fail(struct rosm_qp *qp, int event);
/* Its two halves: under sq_lock, then without any lock. */
void rosm_qp_fail_send_locked(struct rosm_qp *qp);
void rosm_qp_fail_recv(struct rosm_qp *qp);
/* Drop all that is queued, for RESET and destroy; no lock held. */
void rosm_qp_discard(struct rosm_qp *qp);
void rosm_qp_peer_dead(struct rosm_inst *inst, struct rosm_peer *peer);

/* ---- responder.c ---- */
/*
 * What an arrival does to its QP: true when *wc is a completion. Under the
 * receive CQ's lock. The slot is still the caller's.
 */
bool rosm_arrival(struct rosm_cq *cq, struct rosm_wire_slot *slot,
		  uint64_t pos, struct rosm_wc *wc, struct rosm_qp **qp_out,
		  bool *again_out);

/* A RECV of this QP, by index in the ring; our own memory. */
static inline struct rosm_wire_recv *rosm_qp_recv(struct rosm_qp *qp,
						  uint32_t at)
{
	return (void *)((char *)qp->inst->ro.base + qp->rq_off +
			(size_t)at * qp->rq_stride);
}

static inline struct rosm_qp *rosm_qp_at(struct rosm_inst *inst,
					 uint32_t index)
{
	return index < ROSM_WIRE_QPS ? inst->qps[index] : NULL;
}

#endif
