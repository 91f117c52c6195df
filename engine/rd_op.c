/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Outstanding RD operations: the blocks that peers answer into, and what moves
 * them along. Everything _locked is under rd->lock; memory is the endpoint's
 * (rd_pool.c).
 *
 * An answer is: status, then state DONE, then the asker's answers count, then
 * its doorbell if armed. If the answerer stops before the state, the asker
 * learns of its death and fails the operation; between state and count, the
 * asker finds DONE when the death makes it look. Nothing is repaired by
 * others.
 */
#include <config.h>

#include "engine/rd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/move/move.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/fault.h"
#include "util/log.h"

/* A partner that was silent that long is taken to be elsewhere. */
#define SILENT_NS	50000u
#define REST_BYTES	(1u << 20)

static void count_moved(struct rosm_rd_op *op)
{
	bool tx = op->kind == ROSM_RD_OP_SEND || op->kind == ROSM_RD_OP_WRITE;

	if (op->kind == ROSM_RD_OP_SERVE)
		tx = op->source;
	if (op->counted || !op->len || !op->peer->peer)
		return;
	op->counted = true;
	rosm_move_count(op->peer->peer, (enum rosm_mover)op->mover, tx,
			op->len);
}

void rosm_rd_op_done_locked(struct rosm_rd *rd, struct rosm_rd_op *op,
			    int status)
{
	if (!status)
		count_moved(op);
	op->status = status;
	ru_list_del(&op->link);
	ru_list_add_tail(&rd->ready, &op->link);
}

/* ---- blocks --------------------------------------------------------- */

static const struct {
	int err;
	uint32_t wire;
} status_map[] = {
	{ 0, ROSM_WC_SUCCESS },
	{ -EACCES, ROSM_WC_REM_ACCESS_ERR },
	{ -EFAULT, ROSM_WC_REM_OP_ERR },
	{ -EINVAL, ROSM_WC_REM_INV_REQ_ERR },
	{ -EMSGSIZE, ROSM_WC_LOC_LEN_ERR },
	{ -ECANCELED, ROSM_WC_WR_FLUSH_ERR },
	{ -ECONNABORTED, ROSM_WC_RETRY_EXC_ERR },
	{ -EPROTO, ROSM_WC_BAD_RESP_ERR },
	{ -EIO, ROSM_WC_GENERAL_ERR },
};

uint32_t rosm_rd_status_to_wire(int status)
{
	size_t i;

	for (i = 0; i < RU_ARRAY_SIZE(status_map); i++)
		if (status_map[i].err == status)
			return status_map[i].wire;
	return ROSM_WC_GENERAL_ERR;
}

int rosm_rd_status_from_wire(uint32_t status)
{
	size_t i;

	for (i = 0; i < RU_ARRAY_SIZE(status_map); i++)
		if (status_map[i].wire == status)
			return status_map[i].err;
	return -EIO;
}

void rosm_rd_op_open(struct rosm_rd_op *op)
{
	struct rosm_wire_xfer *x = op->own;
	uint32_t i;

	x->len = op->len;
	x->iov_count = op->iov_count;
	x->seq = op->seq;
	x->is_read = op->kind == ROSM_RD_OP_READ;
	x->remote_addr = op->remote_addr;
	x->rkey = op->rkey;
	x->ring_off = op->bring ? op->bring->off : 0;
	x->ring_bytes = op->bring ? ROSM_BOUNCE_RING : 0;
	for (i = 0; i < op->iov_count; i++) {
		x->iov[i].addr = (uintptr_t)op->iov[i].iov_base;
		x->iov[i].len = op->iov[i].iov_len;
	}
	atomic_store_explicit(&x->status, 0, memory_order_relaxed);
	atomic_store_explicit(&x->produced, 0, memory_order_relaxed);
	atomic_store_explicit(&x->consumed, 0, memory_order_relaxed);
	/* seen by the other side after the slot: R-ring1 publishes all of it */
	atomic_store_explicit(&x->state, ROSM_XFER_OPEN, memory_order_relaxed);
}

struct rosm_wire_xfer *rosm_rd_xfer(struct rosm_rd_peer *p, uint64_t ref,
				    uint32_t *seq_out)
{
	uint64_t off = (ref & UINT32_MAX) << 6;
	struct rosm_wire_xfer *x;

	if (!p->peer || p->buried)
		return NULL;
	x = rosm_peer_rw(p->peer, off, sizeof(*x));
	*seq_out = (uint32_t)(ref >> 32);
	return x && x->seq == *seq_out && *seq_out ? x : NULL;
}

bool rosm_rd_their_iov(struct rosm_wire_xfer *x, uint64_t len,
		       struct iovec iov[ROSM_RD_IOV], uint32_t *count_out)
{
	uint32_t i, n = x->iov_count;
	uint64_t sum = 0;

	if (n > ROSM_RD_IOV)
		return false;
	for (i = 0; i < n; i++) {
		iov[i].iov_base = (void *)(uintptr_t)x->iov[i].addr;
		iov[i].iov_len = x->iov[i].len;
		if (iov[i].iov_len > UINT64_MAX / 2 - sum)
			return false;
		sum += iov[i].iov_len;
	}
	*count_out = n;
	return sum >= len;
}

void rosm_rd_wake(struct rosm_rd *rd, struct rosm_rd_peer *p)
{
	struct rosm_wire_hazard *h;

	/* A-rdup: pairs with R-rdup in rosm_rd_contact */
	if (atomic_load_explicit(&p->state, memory_order_acquire) !=
		    ROSM_RD_UP ||
	    rosm_rd_enter(rd, p, &h))
		return;
	rosm_ring_notify(p->peer, p->tx.hdr, true);
	rosm_hazard_clear_qp(rd->inst, h);
}

void rosm_rd_nudge(struct rosm_rd *rd, struct rosm_rd_peer *p)
{
	/* R-rdanswer: what we stored in the block; A-rdanswer below */
	atomic_fetch_add_explicit(&p->peer->rwh->answers, 1,
				  memory_order_release);
	rosm_rd_wake(rd, p);
}

bool rosm_rd_taken_back(const struct rosm_wire_xfer *x, uint32_t seq)
{
	uint32_t state = atomic_load_explicit(&x->state, memory_order_acquire);

	return x->seq != seq || (state != ROSM_XFER_OPEN &&
				 state != ROSM_XFER_BOUNCE);
}

int rosm_rd_answer_xfer(struct rosm_rd *rd, struct rosm_rd_peer *p,
			struct rosm_wire_xfer *x, uint32_t seq, int status)
{
	uint32_t state = atomic_load_explicit(&x->state, memory_order_acquire);

	do {
		if (x->seq != seq || (state != ROSM_XFER_OPEN &&
				      state != ROSM_XFER_BOUNCE))
			return -ECONNABORTED;
		atomic_store_explicit(&x->status,
				      rosm_rd_status_to_wire(status),
				      memory_order_relaxed);
		RU_KILL_POINT("rd.answering");
		/* R-rddone: status, and our last touch; A-rddone, settle */
	} while (!atomic_compare_exchange_strong_explicit(
		&x->state, &state, ROSM_XFER_DONE, memory_order_release,
		memory_order_acquire));
	RU_KILL_POINT("rd.answered");
	rosm_rd_nudge(rd, p);
	return 0;
}

/* ---- bounce rings --------------------------------------------------- */

void rosm_rd_bring_use_locked(struct rosm_rd *rd, struct rosm_rd_op *op,
			      struct rosm_rd_bring *ring)
{
	op->bring = ring;
	op->bouncing = true;
	op->source = op->kind != ROSM_RD_OP_READ;
	op->mover = ROSM_MOVER_BOUNCE;
	op->b = (struct rosm_bounce){
		.xfer = op->own,
		.ring = ru_shmalloc_ptr(&rd->inst->rw_heap, ring->off),
		.ring_bytes = ROSM_BOUNCE_RING,
		.total = op->len,
		.want = op->len,
	};
}

/* The receiver asks for chunks: give it a ring, or wait for one. */
static void start_bounce_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	struct rosm_rd_bring *ring = rosm_rd_bring_make_locked(rd);

	ru_list_del(&op->link);
	if (!ring) {
		ru_list_add_tail(&rd->wait_ring, &op->link);
		return;
	}
	/* plain: the first R-rdfill publishes them */
	op->own->ring_off = ring->off;
	op->own->ring_bytes = ROSM_BOUNCE_RING;
	rosm_rd_bring_use_locked(rd, op, ring);
	ru_list_add_tail(&rd->work, &op->link);
}

/* ---- moving along --------------------------------------------------- */

/*
 * Look at one asked operation: 1 when it was answered or began to bounce.
 */
static int settle_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	/* A-rddone: pairs with R-rddone in rosm_rd_answer_xfer */
	uint32_t state = atomic_load_explicit(&op->own->state,
					      memory_order_acquire);
	int status;

	if (state == ROSM_XFER_DONE) {
		status = rosm_rd_status_from_wire(atomic_load_explicit(
			&op->own->status, memory_order_relaxed));
		if (op->peer->peer && op->peer->peer->local)
			op->mover = ROSM_MOVER_SELF;
		else if (op->bouncing && op->source &&
			 !atomic_load_explicit(&op->own->consumed,
					       memory_order_relaxed))
			op->mover = ROSM_MOVER_CMA;	/* it read directly */
		atomic_store_explicit(&op->own->state, ROSM_XFER_FREE,
				      memory_order_relaxed);
		rosm_rd_op_done_locked(rd, op, status);
		return 1;
	}
	if (state == ROSM_XFER_BOUNCE && !op->bouncing) {
		if (op->kind != ROSM_RD_OP_SEND)
			return 0;
		start_bounce_locked(rd, op);
		return 1;
	}
	return 0;
}

/*
 * Each answer counts once, so a look ends where all that were counted are
 * found. An answerer that stops between DONE and its count is found in place
 * of another, which is then further down: whoever ended early looks at all of
 * them some time later, and before the endpoint's owner goes to sleep.
 */
static void look_for_answers_locked(struct rosm_rd *rd)
{
	/* A-rdanswer: pairs with R-rdanswer in rosm_rd_nudge */
	uint64_t now = atomic_load_explicit(&rd->inst->rwh->answers,
					    memory_order_acquire);
	uint64_t news = now - rd->answers_seen;
	bool all = rd->unsure && (int64_t)(ru_ticks() - rd->look_all_at) >= 0;
	struct ru_list *l, *next;

	if (!news && !all)
		return;
	rd->answers_seen = now;
	if (atomic_load_explicit(&rd->inst->rd_count, memory_order_relaxed) ==
	    1)		/* they were for no other */
		atomic_store_explicit(&rd->inst->rd_answers, now,
				      memory_order_relaxed);
	ru_list_for_each_safe(l, next, &rd->pending) {
		if (!settle_locked(rd, ru_list_entry(l, struct rosm_rd_op,
						     link)) ||
		    all || --news)
			continue;
		if (!rd->unsure)
			rd->look_all_at = ru_ticks() + rd->inst->watch_ticks;
		rd->unsure = true;
		return;
	}
	rd->unsure = false;
}

void rosm_rd_look_all_locked(struct rosm_rd *rd)
{
	rd->look_all_at = ru_ticks();
}

/* What the other side does with the ring is no longer known: never reuse it. */
static void drop_bring_locked(struct rosm_rd_op *op)
{
	free(op->bring);	/* its memory stays out of use */
	op->bring = NULL;
}

/* The asker's end of a bounce; true when the operation left the list. */
static bool ask_turn_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	/* A-rddone: and all that was produced before it */
	uint32_t state = atomic_load_explicit(&op->own->state,
					      memory_order_acquire);
	bool good = atomic_load_explicit(&op->own->status,
					 memory_order_relaxed) ==
		    ROSM_WC_SUCCESS;
	int64_t n = 0;

	if (!op->source)
		n = rosm_bounce_consume(&op->b, op->iov, op->iov_count);
	else if (state != ROSM_XFER_DONE)
		n = rosm_bounce_produce(&op->b, op->iov, op->iov_count);
	if (n > 0 && state != ROSM_XFER_DONE)
		rosm_rd_wake(rd, op->peer);
	if (n > 0)
		op->heard_ns = 0;
	else if (!op->heard_ns)
		op->heard_ns = ru_clock_ns();
	else if (op->kind != ROSM_RD_OP_SEND && state != ROSM_XFER_DONE)
		rosm_peer_is_silent(op->peer->peer, op->heard_ns);
	if (state == ROSM_XFER_DONE && !op->source && good) {
		if (n > 0 && !rosm_bounce_over(&op->b))
			return false;
		if (!n && op->b.moved && !rosm_bounce_over(&op->b))
			n = -EPROTO;
		if (!op->b.moved)
			op->mover = ROSM_MOVER_CMA;
	}
	if (n < 0) {
		drop_bring_locked(op);
		atomic_store_explicit(&op->own->state, ROSM_XFER_FREE,
				      memory_order_relaxed);
		rosm_rd_op_done_locked(rd, op, (int)n);
		return true;
	}
	return state == ROSM_XFER_DONE && settle_locked(rd, op);
}

/* The ring that the asker gave; plain fields, read once produced grew. */
static int find_ring(struct rosm_rd_op *op)
{
	struct rosm_wire_xfer *x = op->xfer;
	uint64_t off;
	uint32_t bytes;

	if (op->b.ring)
		return 1;
	/* A-rdfill: the ring's place came before the first chunk */
	if (!atomic_load_explicit(&x->produced, memory_order_acquire))
		return 0;
	off = x->ring_off;
	bytes = x->ring_bytes;
	if (!ru_is_pow2(bytes) || bytes < 4096)
		return -EPROTO;
	op->b.ring = rosm_peer_rw(op->peer->peer, off, bytes);
	op->b.ring_bytes = bytes;
	return op->b.ring ? 1 : -EPROTO;
}

static void pull_over_locked(struct rosm_rd *rd, struct rosm_rd_op *op,
			     int status)
{
	int rc;

	rc = rosm_rd_answer_xfer(rd, op->peer, op->xfer, op->their_seq,
				 status);
	if (op->peer->select && (status || op->mover != ROSM_MOVER_BOUNCE))
		rosm_select_left(op->peer->select);
	else if (op->peer->select)
		rosm_select_done(op->peer->select, op->peer->peer,
				 ROSM_MOVER_BOUNCE, op->len, op->start_ns,
				 ru_clock_ns());
	rosm_rd_op_done_locked(rd, op, status ? status : rc);
}

/* The asker does not come: read the rest directly, a part a turn. */
static bool pull_rest_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	struct iovec from[ROSM_RD_IOV], to[ROSM_RD_IOV];
	uint64_t n = ru_min(op->len - op->b.moved, REST_BYTES);
	enum rosm_move_fault fault;
	struct rosm_end src = {
		op->peer->peer, from,
		rosm_rd_iov_slice(op->their_iov, op->their_iov_count,
				  op->b.moved, n, from),
	};
	struct rosm_end dst = {
		rd->inst->self, to,
		rosm_rd_iov_slice(op->iov, op->iov_count, op->b.moved, n, to),
	};
	int rc = rosm_move(&src, &dst, n, &fault);

	if (rc == -EOPNOTSUPP && op->mover == ROSM_MOVER_BOUNCE)
		return false;
	op->mover = ROSM_MOVER_CMA;
	if (!rc)
		op->b.moved += n;
	if (!rc && !rosm_bounce_over(&op->b))
		return false;
	pull_over_locked(rd, op, rc == -ESRCH ? -ECONNABORTED : rc);
	return true;
}

/* A message that we fetch through the sender's ring. */
static bool pull_turn_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	uint64_t now;
	int64_t n;

	if (op->mover != ROSM_MOVER_BOUNCE)
		return pull_rest_locked(rd, op);
	n = find_ring(op);
	if (n > 0)
		n = rosm_bounce_consume(&op->b, op->iov, op->iov_count);
	if (n > 0 && op->peer->select)
		rosm_select_moved(op->peer->select, (uint64_t)n, ru_clock_ns());
	if (n < 0 || rosm_bounce_over(&op->b)) {
		pull_over_locked(rd, op, n < 0 ? (int)n : 0);
		return true;
	}
	if (n > 0) {
		op->heard_ns = 0;
		rosm_rd_wake(rd, op->peer);
		return false;
	}
	if (rosm_rd_taken_back(op->xfer, op->their_seq)) {
		pull_over_locked(rd, op, -ECONNABORTED);
		return true;
	}
	now = ru_clock_ns();
	if (!op->heard_ns)
		op->heard_ns = now;
	if (now - op->heard_ns < SILENT_NS)
		return false;
	/* it has more of ours to serve than it has rings */
	if (op->peer->select && now - op->peer->select->heard_ns < SILENT_NS)
		return false;
	if (rosm_move_can_read(op->peer->peer))
		return pull_rest_locked(rd, op);
	/* its other calls can serve us too */
	rosm_peer_attend(op->peer->peer);
	op->heard_ns = now;
	return false;
}

static void turn_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	switch ((enum rosm_rd_kind)op->kind) {
	case ROSM_RD_OP_PULL:
		pull_turn_locked(rd, op);
		break;
	case ROSM_RD_OP_SERVE:
		rosm_rd_serve_turn_locked(rd, op);
		break;
	case ROSM_RD_OP_SEND:
	case ROSM_RD_OP_READ:
	case ROSM_RD_OP_WRITE:
		ask_turn_locked(rd, op);
		break;
	case ROSM_RD_OP_ANNOUNCE:
		break;
	}
}

void rosm_rd_note_locked(struct rosm_rd *rd)
{
	bool moving = !ru_list_empty(&rd->work) ||
		      !ru_list_empty(&rd->wait_ring);

	if (moving == rd->moving)
		return;
	rd->moving = moving;
	if (moving)
		atomic_fetch_add_explicit(&rd->inst->rd_moving, 1,
					  memory_order_relaxed);
	else
		atomic_fetch_sub_explicit(&rd->inst->rd_moving, 1,
					  memory_order_relaxed);
}

void rosm_rd_advance_locked(struct rosm_rd *rd)
{
	struct ru_list *l, *next;

	look_for_answers_locked(rd);
	ru_list_for_each_safe(l, next, &rd->work)
		turn_locked(rd, ru_list_entry(l, struct rosm_rd_op, link));
	while (!ru_list_empty(&rd->wait_ring) &&
	       (!ru_list_empty(&rd->brings) ||
		rd->bring_count < ROSM_RD_RINGS_MAX)) {
		l = ru_list_first(&rd->wait_ring);
		start_bounce_locked(rd, ru_list_entry(l, struct rosm_rd_op,
						      link));
		if (!ru_list_empty(&rd->wait_ring) &&
		    ru_list_last(&rd->wait_ring) == l)
			break;		/* no memory for a ring */
	}
	/* what was answered while it waited for a ring */
	ru_list_for_each_safe(l, next, &rd->wait_ring) {
		struct rosm_rd_op *op =
			ru_list_entry(l, struct rosm_rd_op, link);

		if (atomic_load_explicit(&op->own->state,
					 memory_order_acquire) ==
		    ROSM_XFER_DONE)
			settle_locked(rd, op);
	}
	rosm_rd_note_locked(rd);
}

/* ---- ends ----------------------------------------------------------- */

/* What was finished, or at least all produced, before it died counts. */
static bool rescued_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	if (op->kind == ROSM_RD_OP_PULL) {
		while (op->mover == ROSM_MOVER_BOUNCE && find_ring(op) > 0 &&
		       rosm_bounce_consume(&op->b, op->iov, op->iov_count) > 0)
			;
		if (!rosm_bounce_over(&op->b))
			return false;
		rosm_rd_op_done_locked(rd, op, 0);
		return true;
	}
	if (op->xfer != op->own || op->kind == ROSM_RD_OP_ANNOUNCE ||
	    atomic_load_explicit(&op->own->state, memory_order_acquire) !=
		    ROSM_XFER_DONE)
		return false;
	if (!op->bouncing)
		return settle_locked(rd, op);
	while (!ask_turn_locked(rd, op))
		;
	return true;
}

/* True when no peer will touch the block or the ring any more. */
static bool take_back(struct rosm_rd_op *op)
{
	uint32_t state = atomic_load_explicit(&op->own->state,
					      memory_order_acquire);

	if (op->xfer != op->own || op->kind == ROSM_RD_OP_ANNOUNCE)
		return true;
	while (state == ROSM_XFER_OPEN || state == ROSM_XFER_BOUNCE)
		if (atomic_compare_exchange_strong_explicit(
			    &op->own->state, &state, ROSM_XFER_FREE,
			    memory_order_acq_rel, memory_order_acquire))
			return false;
	return true;
}

/*
 * It was taken back: a living target may be writing into our buffers right
 * now, under a hazard line; it looks at the block once more before the next
 * turn (rosm_rd_taken_back).
 */
static void wait_for_target(struct rosm_rd_op *op)
{
	if (op->kind == ROSM_RD_OP_READ && op->peer->peer)
		rosm_hazard_drain_theirs(op->peer->peer, op->rkey);
}

static void fail_list_locked(struct rosm_rd *rd, struct ru_list *list,
			     struct rosm_rd_peer *p, int status)
{
	struct ru_list *l, *next;

	ru_list_for_each_safe(l, next, list) {
		struct rosm_rd_op *op =
			ru_list_entry(l, struct rosm_rd_op, link);

		if (op->peer != p || rescued_locked(rd, op))
			continue;
		if (!take_back(op)) {
			wait_for_target(op);
			if (rd->lost)
				drop_bring_locked(op);
		} else if (rescued_locked(rd, op)) {
			continue;	/* it was answered just now */
		}
		rosm_rd_op_done_locked(rd, op, status);
	}
}

void rosm_rd_fail_peer_locked(struct rosm_rd *rd, struct rosm_rd_peer *p,
			      int status)
{
	fail_list_locked(rd, &rd->pending, p, status);
	fail_list_locked(rd, &rd->wait_ring, p, status);
	fail_list_locked(rd, &rd->announce, p, status);
	fail_list_locked(rd, &rd->work, p, status);
	rosm_rd_note_locked(rd);
}

static void cancel_list(struct rosm_rd *rd, struct ru_list *list,
			bool *leak_out)
{
	struct ru_list *l;

	while ((l = ru_list_pop_head(list))) {
		struct rosm_rd_op *op =
			ru_list_entry(l, struct rosm_rd_op, link);

		if (list == &rd->work && op->xfer != op->own)
			rosm_rd_answer_xfer(rd, op->peer, op->xfer,
					    op->their_seq, -ECONNABORTED);
		if (take_back(op)) {
			rosm_rd_op_put_locked(rd, op);
			continue;
		}
		*leak_out = true;
		wait_for_target(op);
		drop_bring_locked(op);
	}
}

void rosm_rd_cancel_all(struct rosm_rd *rd)
{
	struct ru_list *l;
	bool leak = false;

	cancel_list(rd, &rd->pending, &leak);
	cancel_list(rd, &rd->wait_ring, &leak);
	cancel_list(rd, &rd->work, &leak);
	cancel_list(rd, &rd->announce, &leak);
	cancel_list(rd, &rd->ready, &leak);
	rosm_rd_note_locked(rd);
	if (!leak)
		return;
	/*
	 * Somebody may be looking at a block, or be filling a ring, right now:
	 * that memory stays out of use until the instance ends.
	 */
	while ((l = ru_list_pop_head(&rd->slabs)))
		free(ru_list_entry(l, struct rosm_rd_slab, link));
}
