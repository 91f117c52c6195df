/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD one-sided operations. The initiator looks up the key in the target's MR
 * table, under a hazard line, and copies; the target need not call anything.
 * Where the kernel refuses the copy, the target is asked (RD_ASK) and carries
 * it out in its calls through the initiator's bounce ring, with its own look
 * at the key at each turn.
 *
 * The protection domain of an RD region is the target endpoint's, which its
 * descriptor tells.
 */
#include <config.h>

#include "engine/rd.h"

#include <errno.h>
#include <string.h>

#include "engine/move/move.h"
#include "engine/mr.h"
#include "util/copy.h"

/* A hazard line is given up and taken again after so much. */
#define STEP_BYTES	(4u << 20)
#define SERVE_BYTES	(1u << 20)	/* a turn, under locks */

uint32_t rosm_rd_iov_slice(const struct iovec *iov, uint32_t count,
			   uint64_t off, uint64_t len,
			   struct iovec out[ROSM_RD_IOV])
{
	uint32_t i, n = 0;

	for (i = 0; i < count && len && n < ROSM_RD_IOV; i++) {
		uint64_t here = iov[i].iov_len;

		if (off >= here) {
			off -= here;
			continue;
		}
		here = ru_min(here - off, len);
		out[n].iov_base = (char *)iov[i].iov_base + off;
		out[n++].iov_len = here;
		off = 0;
		len -= here;
	}
	return n;
}

static int check_errno(int rc)
{
	return rc ? -EACCES : 0;
}

/* One step, checked and covered by the hazard line. */
static int rma_step(struct rosm_rd *rd, struct rosm_rd_peer *p,
		    const struct rosm_rd_rma *rma, uint64_t off, uint64_t n,
		    bool write)
{
	struct rosm_wire_hazard *h;
	struct iovec local[ROSM_RD_IOV], remote;
	enum rosm_move_fault fault;
	struct rosm_end mine = { rd->inst->self, local, 0 };
	struct rosm_end theirs = { p->peer, &remote, 1 };
	uint64_t va;
	int rc;

	h = rosm_hazard_line(rd->inst);
	rosm_hazard_mr(h, p->who, rma->rkey);
	rosm_hazard_barrier(p->peer->fenced && rd->inst->self->fenced);
	rc = check_errno(rosm_mr_check(
		p->peer, rma->rkey, rma->remote_addr + off, n,
		atomic_load_explicit(&p->desc->pd, memory_order_relaxed),
		write ? ROSM_ACCESS_REMOTE_WRITE : ROSM_ACCESS_REMOTE_READ,
		&va));
	if (!rc) {
		mine.iov_count = rosm_rd_iov_slice(rma->iov, rma->iov_count,
						   off, n, local);
		remote.iov_base = (void *)(uintptr_t)va;
		remote.iov_len = n;
		rc = write ? rosm_move(&mine, &theirs, n, &fault) :
			     rosm_move(&theirs, &mine, n, &fault);
	}
	rosm_hazard_clear(rd->inst, h);
	return rc == -ESRCH ? -ECONNABORTED : rc;
}

static int rma_direct(struct rosm_rd *rd, struct rosm_rd_peer *p,
		      const struct rosm_rd_rma *rma, uint64_t len, bool write)
{
	uint64_t off = 0, n, va;
	int rc;

	/* nothing is moved when the whole range is not good */
	rc = check_errno(rosm_mr_check(
		p->peer, rma->rkey, rma->remote_addr, len,
		atomic_load_explicit(&p->desc->pd, memory_order_relaxed),
		write ? ROSM_ACCESS_REMOTE_WRITE : ROSM_ACCESS_REMOTE_READ,
		&va));
	for (; !rc && off < len; off += n) {
		n = ru_min(len - off, STEP_BYTES);
		rc = rma_step(rd, p, rma, off, n, write);
	}
	if (!rc)
		rosm_move_count(p->peer,
				p->peer->local ? ROSM_MOVER_SELF :
						 ROSM_MOVER_CMA,
				write, len);
	return rc;
}

/* The operation's record, as the initiator keeps it. */
static struct rosm_rd_op *op_make(struct rosm_rd *rd, struct rosm_rd_peer *p,
				  const struct rosm_rd_rma *rma, uint64_t len,
				  enum rosm_rd_kind kind)
{
	struct rosm_rd_op *op = rosm_rd_op_get_locked(rd, kind);
	uint32_t i;

	if (!op)
		return NULL;
	op->peer = p;
	op->context = rma->context;
	op->len = len;
	op->data = rma->data;
	op->has_data = rma->flags & ROSM_RD_DATA;
	op->remote_addr = rma->remote_addr;
	op->rkey = rma->rkey;
	op->iov_count = rma->iov_count;
	for (i = 0; i < rma->iov_count; i++)
		op->iov[i] = rma->iov[i];
	return op;
}

static int rma_ask(struct rosm_rd *rd, struct rosm_rd_peer *p,
		   const struct rosm_rd_rma *rma, uint64_t len, bool write)
{
	struct rosm_rd_msg msg = {
		.data = rma->data,
		.flags = rma->flags & ROSM_RD_DATA,
	};
	struct rosm_rd_bring *ring;
	struct rosm_rd_op *op;
	int rc;

	ru_lock_acquire(&rd->lock);
	ring = rosm_rd_bring_get_locked(rd);
	op = ring ? op_make(rd, p, rma, len,
			    write ? ROSM_RD_OP_WRITE : ROSM_RD_OP_READ) :
		    NULL;
	if (!op) {
		if (ring)
			ru_list_add_head(&rd->brings, &ring->link);
		else
			rosm_rd_want_ring(rd);
		ru_lock_release(&rd->lock);
		return -EAGAIN;
	}
	rosm_rd_bring_use_locked(rd, op, ring);
	rosm_rd_op_open(op);
	ru_list_add_tail(&rd->work, &op->link);
	rosm_rd_note_locked(rd);
	ru_lock_release(&rd->lock);

	rc = rosm_rd_publish_ref(rd, p, ROSM_SLOT_RD_ASK, 0, &msg, len,
				 rosm_rd_ref(op->own_off, op->seq));
	if (!rc) {
		rosm_peer_attend(p->peer);
		return ROSM_RD_PENDING;
	}
	ru_lock_acquire(&rd->lock);
	atomic_store_explicit(&op->own->state, ROSM_XFER_FREE,
			      memory_order_relaxed);
	ru_list_del(&op->link);
	rosm_rd_op_put_locked(rd, op);
	rosm_rd_note_locked(rd);
	ru_lock_release(&rd->lock);
	return rc;
}

/* The bytes are there; the announcement has to wait for a slot. */
static int announce_later(struct rosm_rd *rd, struct rosm_rd_peer *p,
			  const struct rosm_rd_rma *rma, uint64_t len)
{
	struct rosm_rd_op *op;

	ru_lock_acquire(&rd->lock);
	op = op_make(rd, p, rma, len, ROSM_RD_OP_ANNOUNCE);
	if (op) {
		op->counted = true;
		ru_list_add_tail(&rd->announce, &op->link);
	}
	ru_lock_release(&rd->lock);
	/* to write the same bytes again does no harm */
	return op ? ROSM_RD_PENDING : -EAGAIN;
}

static int rma_check(const struct rosm_rd_rma *rma, uint64_t *len_out)
{
	if (rma->iov_count > ROSM_RD_IOV)
		return -EINVAL;
	*len_out = ru_iov_len(rma->iov, rma->iov_count);
	return *len_out > UINT64_MAX / 2 ? -EINVAL : 0;
}

int rosm_rd_write(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		  const struct rosm_rd_rma *rma)
{
	bool data = rma->flags & ROSM_RD_DATA;
	uint64_t len;
	int rc;

	rc = rma_check(rma, &len);
	if (!rc)
		rc = rosm_rd_up(rd, peer);
	if (rc)
		return rc;
	if (len)
		rc = rma_direct(rd, peer, rma, len, true);
	if (rc == -EOPNOTSUPP)
		return rma_ask(rd, peer, rma, len, true);
	if (rc || !data)
		return rc;
	/* in order behind those that wait already */
	rc = ru_list_empty(&rd->announce) ?
		     rosm_rd_announce(rd, peer, len, rma->data) : -EAGAIN;
	return rc == -EAGAIN ? announce_later(rd, peer, rma, len) : rc;
}

int rosm_rd_read(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		 const struct rosm_rd_rma *rma)
{
	uint64_t len;
	int rc;

	rc = rma_check(rma, &len);
	if (!rc)
		rc = rosm_rd_up(rd, peer);
	if (rc || !len)
		return rc;
	rc = rma_direct(rd, peer, rma, len, false);
	return rc == -EOPNOTSUPP ? rma_ask(rd, peer, rma, len, false) : rc;
}

/* ---- the target's half ---------------------------------------------- */

void rosm_rd_serve_ask(struct rosm_rd *rd, struct rosm_rd_peer *p,
		       uint64_t ref, bool has_data, uint64_t data)
{
	struct rosm_wire_xfer *x;
	struct rosm_rd_op *op;
	uint64_t ring_off;
	uint32_t seq;

	x = rosm_rd_xfer(p, ref, &seq);
	if (!x)
		return;
	ru_lock_acquire(&rd->lock);
	op = rosm_rd_op_get_locked(rd, ROSM_RD_OP_SERVE);
	if (!op) {
		ru_lock_release(&rd->lock);
		rosm_rd_answer_xfer(rd, p, x, seq, -EIO);
		return;
	}
	op->peer = p;
	op->context = NULL;
	op->xfer = x;
	op->their_seq = seq;
	op->len = x->len;
	op->remote_addr = x->remote_addr;
	op->rkey = x->rkey;
	op->source = x->is_read;
	op->has_data = has_data && !op->source;
	op->data = data;
	op->mover = ROSM_MOVER_BOUNCE;
	op->iov_count = 0;
	ring_off = x->ring_off;
	op->b = (struct rosm_bounce){
		.xfer = x,
		.ring_bytes = x->ring_bytes,
		.total = op->len,
		.want = op->len,
	};
	if (ru_is_pow2(op->b.ring_bytes) && op->b.ring_bytes >= 4096)
		op->b.ring = rosm_peer_rw(p->peer, ring_off,
					  op->b.ring_bytes);
	if (!rosm_rd_their_iov(x, op->len, op->their_iov,
			       &op->their_iov_count))
		op->b.ring = NULL;
	ru_list_add_tail(&rd->work, &op->link);
	rosm_rd_serve_turn_locked(rd, op);
	rosm_rd_note_locked(rd);
	ru_lock_release(&rd->lock);
}

/*
 * The way round that the kernel may allow although theirs was refused; a part
 * a turn, since locks are held. -EOPNOTSUPP: not so.
 */
static int serve_direct(struct rosm_rd *rd, struct rosm_rd_op *op, uint64_t va)
{
	uint64_t n = ru_min(op->len - op->b.moved, SERVE_BYTES);
	struct iovec own = { (void *)(uintptr_t)(va + op->b.moved), n };
	struct iovec other[ROSM_RD_IOV];
	struct rosm_end mine = { rd->inst->self, &own, 1 };
	struct rosm_end theirs = {
		op->peer->peer, other,
		rosm_rd_iov_slice(op->their_iov, op->their_iov_count,
				  op->b.moved, n, other),
	};
	enum rosm_move_fault fault;
	int rc;

	if (op->source ? !rosm_move_can_write(op->peer->peer) :
			 !rosm_move_can_read(op->peer->peer))
		return -EOPNOTSUPP;
	rc = op->source ? rosm_move(&mine, &theirs, n, &fault) :
			  rosm_move(&theirs, &mine, n, &fault);
	if (!rc)
		op->b.moved += n;
	return rc;
}

/* 1: over; 0: more turns; -errno. Under the hazard line. */
static int64_t serve_step(struct rosm_rd *rd, struct rosm_rd_op *op,
			  int64_t *moved_out)
{
	struct iovec own;
	uint64_t va;
	int64_t n;
	int rc;

	*moved_out = 0;
	/* after the hazard line: see wait_for_target() in rd_op.c */
	if (rosm_rd_taken_back(op->xfer, op->their_seq))
		return -ECONNABORTED;
	if (!op->b.ring)
		return -EPROTO;
	rc = rosm_mr_check(rd->inst->self, op->rkey, op->remote_addr, op->len,
			   rd->pd_number,
			   op->source ? ROSM_ACCESS_REMOTE_READ :
					ROSM_ACCESS_REMOTE_WRITE, &va);
	if (rc)
		return -EACCES;
	if (!op->b.moved || op->mover == ROSM_MOVER_CMA) {
		rc = serve_direct(rd, op, va);
		if (!rc)
			op->mover = ROSM_MOVER_CMA;
		if (rc == -ESRCH)
			return -ECONNABORTED;
		if (rc != -EOPNOTSUPP || op->mover == ROSM_MOVER_CMA)
			return rc ? rc : rosm_bounce_over(&op->b);
	}
	own.iov_base = (void *)(uintptr_t)va;
	own.iov_len = op->len;
	n = op->source ? rosm_bounce_produce(&op->b, &own, 1) :
			 rosm_bounce_consume(&op->b, &own, 1);
	if (n < 0)
		return n;
	*moved_out = n;
	return rosm_bounce_over(&op->b);
}

bool rosm_rd_serve_turn_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	struct rosm_wire_hazard *h = rosm_hazard_line(rd->inst);
	int64_t rc, moved;

	rosm_hazard_mr(h, rd->inst->who, op->rkey);
	rosm_hazard_barrier(rd->inst->self->fenced);
	rc = serve_step(rd, op, &moved);
	rosm_hazard_clear(rd->inst, h);
	if (!rc) {
		if (moved)
			rosm_rd_wake(rd, op->peer);
		return false;
	}
	rosm_rd_answer_xfer(rd, op->peer, op->xfer, op->their_seq,
			    rc < 0 ? (int)rc : 0);
	rosm_rd_op_done_locked(rd, op, rc < 0 ? (int)rc : 0);
	return true;
}
