/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Executing one WQE of an RC queue pair: by its owner in post_send, or by the
 * peer on the owner's behalf; either way `c` says who is where. Everything
 * is checked before anything is changed at the other side.
 *
 * If the executor stops after moving data and before publishing, the RECV is
 * not consumed and no completion exists anywhere: as if the WQE had not
 * started, but for bytes in a buffer whose content is undefined until then.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "engine/assist.h"
#include "engine/hazard.h"
#include "engine/move/move.h"
#include "engine/mr.h"
#include "engine/overlap.h"
#include "engine/qp.h"
#include "util/clock.h"
#include "util/copy.h"
#include "util/fault.h"
#include "util/log.h"

/* Local end of a WQE: its SGEs with their keys checked. */
struct gather {
	struct iovec iov[ROSM_MAX_SGE];
	uint32_t count;
};

static uint32_t one_key(const struct rosm_op *op)
{
	uint32_t i, key = 0;

	for (i = 0; i < op->num_sge; i++) {
		if (!op->sge[i].length)
			continue;
		if (key && key != op->sge[i].lkey)
			return ROSM_HAZARD_ALL;
		key = op->sge[i].lkey;
	}
	return key;
}

/* 0, or LOC_PROT_ERR. access: LOCAL_WRITE for what a READ fills. */
static int gather(struct rosm_conn *c, const struct rosm_op *op,
		  struct rosm_wire_hazard *h, uint32_t access,
		  struct gather *g)
{
	uint32_t i;

	g->count = 0;
	if (op->inline_data) {
		g->iov[0].iov_base = (void *)(uintptr_t)op->inline_data;
		g->iov[0].iov_len = op->len;
		g->count = 1;
		return 0;
	}
	if (!op->num_sge)
		return 0;
	rosm_hazard_mr2(h, c->src->who, one_key(op));
	rosm_hazard_barrier(c->src->fenced);
	for (i = 0; i < op->num_sge; i++) {
		const struct rosm_sge *s = &op->sge[i];
		uint64_t va;

		if (!s->length)
			continue;
		if (rosm_mr_check(c->src, s->lkey, s->addr, s->length,
				  c->src_pd, access, &va))
			return ROSM_WC_LOC_PROT_ERR;
		g->iov[g->count].iov_base = (void *)(uintptr_t)va;
		g->iov[g->count++].iov_len = s->length;
	}
	return 0;
}

/* A RECV of the other side, with its keys checked in its owner's table. */
static int open_recv(struct rosm_conn *c, struct rosm_wire_hazard *h,
		     struct gather *g, uint64_t *len_out)
{
	const struct rosm_wire_recv *w =
		(const void *)(c->rq + (size_t)(c->taken & c->rq_mask) *
					       c->rq_stride);
	uint32_t i, n = w->num_sge, key = 0;
	uint64_t room = 0;
	struct rosm_wire_sge sge[ROSM_MAX_SGE];

	if (n > ROSM_MAX_SGE ||
	    n > (c->rq_stride - sizeof(*w)) / sizeof(*sge))
		return -EPROTO;
	memcpy(sge, w->sge, n * sizeof(*sge));
	for (i = 0; i < n; i++)
		if (sge[i].len)
			key = key && key != sge[i].lkey ? ROSM_HAZARD_ALL :
							  sge[i].lkey;
	rosm_hazard_mr(h, c->dst->who, key);
	rosm_hazard_barrier(c->dst->fenced);
	g->count = 0;
	for (i = 0; i < n; i++) {
		uint64_t va;

		if (!sge[i].len)
			continue;
		if (rosm_mr_check(c->dst, sge[i].lkey, sge[i].addr, sge[i].len,
				  c->dst_pd, ROSM_ACCESS_LOCAL_WRITE, &va))
			return -EACCES;
		g->iov[g->count].iov_base = (void *)(uintptr_t)va;
		g->iov[g->count++].iov_len = sge[i].len;
		room += sge[i].len;
	}
	*len_out = room;
	return 0;
}

/*
 * How many bytes the next RECV takes. 0 with *len_out; ROSM_STALL_RNR;
 * -EACCES: its keys are bad; -EAGAIN: look at the RECV itself.
 */
static int next_recv(struct rosm_conn *c, uint32_t *len_out)
{
	uint64_t epoch;
	uint32_t sum, i, n;

	if (ru_unlikely(c->taken == c->credit)) {
		uint32_t posted;

		epoch = atomic_load_explicit(&c->dst->roh->mr_epoch,
					     memory_order_acquire);
		/* A-recv: pairs with R-recv in rosm_qp_post_recv */
		posted = atomic_load_explicit(&c->dqp->rq_posted,
					      memory_order_acquire);
		n = posted - c->taken;
		if (!n || n > c->rq_mask + 1)
			return ROSM_STALL_RNR;
		if (n > ROSM_SUM_CACHE)
			n = ROSM_SUM_CACHE;
		for (i = 0; i < n; i++)
			c->sum[(c->taken + i) % ROSM_SUM_CACHE] =
				atomic_load_explicit(
					&c->sums[(c->taken + i) & c->rq_mask],
					memory_order_relaxed);
		c->credit = c->taken + n;
		if (epoch != c->epoch) {
			c->epoch = epoch;
			c->unsure = c->credit;
		}
	}
	epoch = atomic_load_explicit(&c->dst->roh->mr_epoch,
				     memory_order_acquire);
	if (ru_unlikely(epoch != c->epoch)) {
		/* regions went since these RECVs were looked at */
		c->epoch = epoch;
		c->unsure = c->credit;
	}
	if (ru_unlikely((int32_t)(c->unsure - c->taken) > 0))
		return -EAGAIN;
	sum = c->sum[c->taken % ROSM_SUM_CACHE];
	if (!(sum & ROSM_WIRE_SUM_GOOD))
		return -EACCES;
	*len_out = sum & ~ROSM_WIRE_SUM_GOOD;
	/* the largest number stands for all that are larger */
	return *len_out == ROSM_WIRE_SUM_GOOD - 1 ? -EAGAIN : 0;
}

static void fill_slot(struct rosm_conn *c, const struct rosm_op *op,
		      struct rosm_wire_slot *s, enum rosm_slot_kind kind,
		      uint8_t flags, uint8_t status)
{
	s->qpn = c->dst_qpn;
	s->kind = kind;
	s->flags = flags |
		   (op->opcode == ROSM_WR_SEND_WITH_IMM ||
				    op->opcode == ROSM_WR_RDMA_WRITE_WITH_IMM ?
			    ROSM_SLOT_F_IMM : 0) |
		   (op->flags & ROSM_SEND_SOLICITED ? ROSM_SLOT_F_SOLICITED : 0);
	s->status = status;
	s->src_qpn = c->dst_index;
	s->len32 = op->len;
	s->rc.imm = op->imm;
	s->rc.recv_index = c->taken;
}

/* Announce at the other side that a RECV is used up. */
static int announce(struct rosm_conn *c, const struct rosm_op *op,
		    enum rosm_slot_kind kind, uint8_t status)
{
	struct rosm_wire_slot *s;
	uint64_t pos;

	s = rosm_ring_claim(&c->tx, c->inst->who, &pos);
	if (!s)
		return ROSM_STALL_RING;
	fill_slot(c, op, s, kind, 0, status);
	rosm_ring_publish(&c->tx, s, pos, c->inst->who);
	RU_KILL_POINT("rc.published");
	c->taken++;
	rosm_ring_notify(c->dst, c->tx.hdr,
			 (op->flags & ROSM_SEND_SOLICITED) ||
				 kind == ROSM_SLOT_RECV_ERR);
	return ROSM_WC_SUCCESS;
}

/* The RECV cannot take the message: both sides learn it. */
static int refuse_recv(struct rosm_conn *c, const struct rosm_op *op,
		       enum rosm_wc_status theirs, enum rosm_wc_status ours)
{
	int rc = announce(c, op, ROSM_SLOT_RECV_ERR, theirs);

	return rc < 0 ? rc : (int)ours;
}

/* Bytes from this process's memory, in order; len is within them. */
static void collect(const struct gather *g, uint8_t *dst)
{
	uint32_t i;

	for (i = 0; i < g->count; i++) {
		ru_copy(dst, g->iov[i].iov_base, g->iov[i].iov_len);
		dst += g->iov[i].iov_len;
	}
}

/* Page faults happen before the claim, not while others wait behind it. */
static void touch(const struct gather *g)
{
	uint32_t i;
	size_t off;

	for (i = 0; i < g->count; i++)
		for (off = 0; off < g->iov[i].iov_len; off += 4096)
			(void)__atomic_load_n((const char *)g->iov[i].iov_base +
						      off, __ATOMIC_RELAXED);
}

/*
 * Payload left in the slot or its chunk; the receiver's poll copies it on.
 * ROSM_STALL_ASSIST: no chunk free.
 */
static int send_in_ring(struct rosm_conn *c, const struct rosm_op *op,
			const struct gather *g)
{
	uint8_t buf[ROSM_SLOT_RC_INLINE];
	bool small = op->len <= sizeof(buf);
	struct rosm_wire_slot *s;
	uint8_t *chunk;
	uint64_t pos;

	if (small)
		collect(g, buf);
	else
		touch(g);
	s = rosm_ring_claim(&c->tx, c->inst->who, &pos);
	if (!s)
		return ROSM_STALL_RING;
	if (small) {
		fill_slot(c, op, s, ROSM_SLOT_SEND, ROSM_SLOT_F_INLINE, 0);
		ru_copy(s->rc.payload, buf, op->len);
	} else {
		chunk = rosm_ring_tx_chunk(&c->tx, pos);
		if (!chunk) {
			s->kind = ROSM_SLOT_NONE;
			s->qpn = 0;
			rosm_ring_publish(&c->tx, s, pos, c->inst->who);
			return ROSM_STALL_ASSIST;
		}
		fill_slot(c, op, s, ROSM_SLOT_SEND, ROSM_SLOT_F_CHUNK, 0);
		collect(g, chunk);
	}
	RU_KILL_POINT("rc.filled");
	rosm_ring_publish(&c->tx, s, pos, c->inst->who);
	RU_KILL_POINT("rc.published");
	c->taken++;
	c->inline_pos = pos;
	c->inline_left = true;
	rosm_ring_notify(c->dst, c->tx.hdr, op->flags & ROSM_SEND_SOLICITED);
	rosm_move_count(c->dst, small ? ROSM_MOVER_INLINE : ROSM_MOVER_CHUNK,
			true, op->len);
	return ROSM_WC_SUCCESS;
}

/* By one side alone where that is possible, else together. */
static int move(struct rosm_conn *c, const struct rosm_op *op,
		const struct rosm_end *src, const struct rosm_end *dst,
		enum rosm_move_fault *fault_out)
{
	struct rosm_peer *other = c->src->self ? c->dst : c->src;
	int rc;

	*fault_out = ROSM_FAULT_NONE;
	if (!op->len)
		return 0;
	rc = rosm_move(src, dst, op->len, fault_out);
	if (!rc && op->inline_data && !other->local && !c->src->self) {
		/* its owner had left the payload in the queue */
		rosm_move_count(other, ROSM_MOVER_INLINE, false, op->len);
	} else if (rc == -EOPNOTSUPP) {
		rc = rosm_assist_move(c, op, src, dst, op->len);
		if (!rc)
			rosm_move_count(other, ROSM_MOVER_BOUNCE,
					src->peer->self, op->len);
	} else if (!rc) {
		rosm_move_count(other, other->local ? ROSM_MOVER_SELF :
						      ROSM_MOVER_CMA,
				src->peer->self, op->len);
	}
	return rc;
}

/* What a copy's result means to the requester. */
static int move_status(int rc, enum rosm_move_fault fault, bool read)
{
	switch (rc) {
	case 0:
		return ROSM_WC_SUCCESS;
	case -EAGAIN:
	case -ENOMEM:
		return ROSM_STALL_ASSIST;
	case -ESRCH:
		return ROSM_WC_RETRY_EXC_ERR;
	case -EFAULT:
		return (fault == ROSM_FAULT_DST) == read ?
			       ROSM_WC_LOC_PROT_ERR : ROSM_WC_REM_OP_ERR;
	default:
		return ROSM_WC_GENERAL_ERR;
	}
}

static int send_direct(struct rosm_conn *c, const struct rosm_op *op,
		       struct rosm_wire_hazard *h, const struct gather *g)
{
	struct rosm_end src = { c->src, g->iov, g->count };
	struct gather r;
	struct rosm_end dst = { c->dst, r.iov, 0 };
	enum rosm_move_fault fault;
	uint64_t room;
	int rc;

	if (op->inline_data)
		src.peer = c->inst->self;	/* mapped here, both ways */
	rc = open_recv(c, h, &r, &room);
	if (rc)
		return refuse_recv(c, op, ROSM_WC_LOC_PROT_ERR,
				   ROSM_WC_REM_OP_ERR);
	if (op->len > room)
		return refuse_recv(c, op, ROSM_WC_LOC_LEN_ERR,
				   ROSM_WC_REM_INV_REQ_ERR);
	dst.iov_count = r.count;
	rc = move(c, op, &src, &dst, &fault);
	if (rc == -EFAULT && fault == ROSM_FAULT_DST)
		return refuse_recv(c, op, ROSM_WC_LOC_PROT_ERR,
				   ROSM_WC_REM_OP_ERR);
	if (rc)
		return move_status(rc, fault, false);
	return announce(c, op, ROSM_SLOT_SEND, 0);
}

/* Payload that is too large for the slot and may go either way. */
static int send_middle(struct rosm_conn *c, const struct rosm_op *op,
		       struct rosm_wire_hazard *h, const struct gather *g)
{
	struct rosm_pace *p = NULL;
	uint64_t start = 0;
	bool chunk = true;
	int rc;

	if (op->len > ROSM_PACE_MIN && rosm_move_can_write(c->dst)) {
		p = &c->pace[rosm_pace_class(op->len)];
		chunk = rosm_pace_pick(p);
		start = ru_ticks();
	}
	if (chunk && rosm_ring_chunk_likely(&c->tx)) {
		rc = send_in_ring(c, op, g);
		if (p && rc == ROSM_WC_SUCCESS)
			rosm_pace_note(&p->chunk, 2 * (ru_ticks() - start));
		if (rc != ROSM_STALL_ASSIST)
			return rc;
	}
	rc = send_direct(c, op, h, g);
	if (p && rc == ROSM_WC_SUCCESS)
		rosm_pace_note(&p->cma, ru_ticks() - start);
	return rc;
}

static int execute_send(struct rosm_conn *c, const struct rosm_op *op,
			struct rosm_wire_hazard *h)
{
	struct gather g;
	uint32_t room;
	int rc;

	rc = next_recv(c, &room);
	if (rc == ROSM_STALL_RNR)
		return rc;
	if (rc == -EACCES)
		return refuse_recv(c, op, ROSM_WC_LOC_PROT_ERR,
				   ROSM_WC_REM_OP_ERR);
	if (gather(c, op, h, 0, &g))
		return ROSM_WC_LOC_PROT_ERR;
	if (rc == 0 && op->len > room)
		return refuse_recv(c, op, ROSM_WC_LOC_LEN_ERR,
				   ROSM_WC_REM_INV_REQ_ERR);
	/* whoever runs it for the owner is the receiver: no detour then */
	if (rc == 0 && c->src->self) {
		if (op->len <= ROSM_SLOT_RC_INLINE)
			return send_in_ring(c, op, &g);
		if (!c->dst->local && op->len <= c->tx.chunk_bytes)
			return send_middle(c, op, h, &g);
	}
	return send_direct(c, op, h, &g);
}

/* The other QP is told of a request that it may not carry out. */
static int refuse_access(struct rosm_conn *c, enum rosm_wc_status ours)
{
	uint32_t none = 0;
	uint32_t bell;

	atomic_store_explicit(&c->dctl->nak_gen, c->dst_gen,
			      memory_order_relaxed);
	if (atomic_compare_exchange_strong_explicit(
		    &c->dctl->nak, &none, (uint32_t)ours + 1,
		    memory_order_acq_rel, memory_order_relaxed)) {
		RU_KILL_POINT("rc.nak");
		/* R-nak: pairs with A-nak in progress.c */
		atomic_fetch_add_explicit(&c->dst->rwh->naks, 1,
					  memory_order_release);
		bell = atomic_load_explicit(&c->dqp->async_bell,
					    memory_order_relaxed);
		if (bell && bell <= ROSM_WIRE_BELLS)
			rosm_peer_ring_bell(c->dst, bell - 1);
	}
	return ours;
}

/* Key, range and rights of the one-sided target. */
static int open_remote(struct rosm_conn *c, const struct rosm_op *op,
		       struct rosm_wire_hazard *h, uint32_t access,
		       struct iovec *iov)
{
	uint32_t allowed = atomic_load_explicit(&c->dqp->access,
						memory_order_relaxed);
	uint64_t va;

	if (!(allowed & access))
		return -EACCES;
	rosm_hazard_mr(h, c->dst->who, op->rkey);
	rosm_hazard_barrier(c->dst->fenced);
	if (rosm_mr_check(c->dst, op->rkey, op->remote_addr, op->len,
			  c->dst_pd, access, &va))
		return -EACCES;
	iov->iov_base = (void *)(uintptr_t)va;
	iov->iov_len = op->len;
	return 0;
}

static int execute_write(struct rosm_conn *c, const struct rosm_op *op,
			 struct rosm_wire_hazard *h)
{
	bool imm = op->opcode == ROSM_WR_RDMA_WRITE_WITH_IMM;
	struct rosm_end src = { c->src, NULL, 0 };
	struct rosm_end dst = { c->dst, NULL, 1 };
	enum rosm_move_fault fault;
	struct iovec target;
	struct gather g;
	uint32_t room;
	int rc;

	/* the source is read first: IBTA 9.7.5.2, a bad lkey wins */
	if (gather(c, op, h, 0, &g))
		return ROSM_WC_LOC_PROT_ERR;
	if (op->len && open_remote(c, op, h, ROSM_ACCESS_REMOTE_WRITE, &target))
		return refuse_access(c, ROSM_WC_REM_ACCESS_ERR);
	if (imm && next_recv(c, &room) == ROSM_STALL_RNR)
		return ROSM_STALL_RNR;
	if (op->len) {
		src.iov = g.iov;
		src.iov_count = g.count;
		if (op->inline_data)
			src.peer = c->inst->self;
		dst.iov = &target;
		if (c->inline_left &&
		    !rosm_overlap_settle(c, h, &target))
			return ROSM_STALL_RING;
		rc = move(c, op, &src, &dst, &fault);
		if (rc)
			return move_status(rc, fault, false);
	}
	return imm ? announce(c, op, ROSM_SLOT_WRITE_IMM, 0) : ROSM_WC_SUCCESS;
}

static int execute_read(struct rosm_conn *c, const struct rosm_op *op,
			struct rosm_wire_hazard *h)
{
	struct rosm_end src = { c->dst, NULL, 1 };
	struct rosm_end dst = { c->src, NULL, 0 };
	enum rosm_move_fault fault;
	struct iovec target;
	struct gather g;
	int rc;

	if (!atomic_load_explicit(&c->dqp->rd_atomic, memory_order_relaxed))
		return refuse_access(c, ROSM_WC_REM_INV_REQ_ERR);
	/* the remote side answers first: its refusal wins over a bad lkey */
	if (op->len && open_remote(c, op, h, ROSM_ACCESS_REMOTE_READ, &target))
		return refuse_access(c, ROSM_WC_REM_ACCESS_ERR);
	if (gather(c, op, h, ROSM_ACCESS_LOCAL_WRITE, &g))
		return ROSM_WC_LOC_PROT_ERR;
	if (!op->len)
		return ROSM_WC_SUCCESS;
	src.iov = &target;
	dst.iov = g.iov;
	dst.iov_count = g.count;
	if (c->inline_left && !rosm_overlap_settle(c, h, &target))
		return ROSM_STALL_RING;
	rc = move(c, op, &src, &dst, &fault);
	if (rc)
		return move_status(rc, fault, true);
	return ROSM_WC_SUCCESS;
}

int rosm_execute(struct rosm_conn *c, const struct rosm_op *op)
{
	struct rosm_wire_hazard *h;
	int rc;

	if (op->len > ROSM_MAX_MSG)
		return ROSM_WC_LOC_LEN_ERR;
	if (ru_unlikely(!c->dst))
		return ROSM_STALL_PEER;
	if (ru_unlikely(atomic_load_explicit(&c->dst->dead,
					     memory_order_relaxed)))
		return ROSM_WC_RETRY_EXC_ERR;
	h = rosm_hazard_line(c->inst);
	rosm_hazard_qp(h, c->dst->who, c->dst_index);
	rosm_hazard_barrier(c->dst->fenced);
	if (ru_unlikely(!rosm_conn_ready(c))) {
		rc = ROSM_STALL_PEER;
	} else {
		switch (op->opcode) {
		case ROSM_WR_SEND:
		case ROSM_WR_SEND_WITH_IMM:
			rc = execute_send(c, op, h);
			break;
		case ROSM_WR_RDMA_WRITE:
		case ROSM_WR_RDMA_WRITE_WITH_IMM:
			rc = execute_write(c, op, h);
			break;
		case ROSM_WR_RDMA_READ:
			rc = execute_read(c, op, h);
			break;
		default:
			rc = ROSM_WC_LOC_QP_OP_ERR;
			break;
		}
	}
	rosm_hazard_clear(c->inst, h);
	return rc;
}
