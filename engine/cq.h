/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A completion queue: an arrival ring in shared memory, which remote
 * processes complete into, and a process-private ring for local completions
 * and for arrivals that had to be taken out early.
 *
 * Lock: cq->lock guards both rings' consumer ends and the rq_head of QPs that
 * receive here. Order: QP locks, then cq->lock (docs/locking.md).
 */
#ifndef ROSM_CQ_H
#define ROSM_CQ_H

#include "engine/channel.h"
#include "engine/ring.h"
#include "engine/rosm.h"

struct rosm_qp;

/* Chunks for payload: what a Send may copy twice. */
#define ROSM_CQ_CHUNKS		64u
#define ROSM_CQ_CHUNK_BYTES	8192u
#define ROSM_CQ_MAX_SLOTS	65536u

struct rosm_cqe {
	struct rosm_wc wc;
	struct rosm_qp *qp;
	uint32_t sq_next;	/* send queue free up to here when polled */
	bool is_send;
	bool dropped;		/* its QP went */
};

struct rosm_cq {
	struct ru_list link;		/* inst->cqs */
	struct rosm_ctx *ctx;
	struct rosm_inst *inst;
	struct rosm_channel *channel;
	struct rosm_fire fire;
	struct ru_lock lock;
	struct rosm_ring ring;
	struct rosm_cqe *cqe;		/* private ring */
	uint32_t mask;
	uint32_t cap;			/* what was promised */
	uint64_t head;
	uint64_t tail;
	bool overrun;
	bool want_event;		/* armed and no event taken since */
	uint32_t doubts;		/* empty polls behind a claimed slot */
	atomic_uint refs;		/* QPs */
	void *cookie;
	struct ru_list failed;		/* QPs that an arrival put in error */
};

/*
 * A completion made here. solicited: also fires a CQ armed for solicited ones
 * only. Any lock below cq->lock may be held.
 */
void rosm_cq_push(struct rosm_cq *cq, const struct rosm_wc *wc,
		  struct rosm_qp *qp, bool is_send, uint32_t sq_next,
		  bool solicited);
/*
 * Take all arrivals into the private ring, so that what lies in the inline
 * payloads is in the program's memory. QPs that this finds in error wait on
 * cq->failed for the next poll. Locks: none below cq->lock.
 */
void rosm_cq_drain(struct rosm_cq *cq);
void rosm_cq_drain_locked(struct rosm_cq *cq);
void rosm_cqs_drain(struct rosm_inst *inst);
/* Drop completions of a QP that goes to RESET or away; drained before. */
void rosm_cq_forget_locked(struct rosm_cq *cq, const struct rosm_qp *qp);
/* Put QPs that arrivals found in error there; no lock held. */
void rosm_cq_settle(struct rosm_cq *cq);
/* A peer died: its slots, and the wake-up that it may have owed. */
void rosm_cq_peer_dead(struct rosm_cq *cq, struct rosm_peer *peer);

#endif
