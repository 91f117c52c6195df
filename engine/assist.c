/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See assist.h. The owner opens the transfer when its WQE comes to the front;
 * its index tells uses of the block apart. If either side stops for ever, the
 * transfer does not go on and the proof of its death ends the connection; the
 * block lies with the owner and is made anew for the next WQE.
 */
#include <config.h>

#include "engine/assist.h"

#include <errno.h>

#include "engine/move/move.h"
#include "engine/progress.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"

#define XFER_BYTES	4096u	/* the block; the ring follows it */

static struct rosm_wire_xfer *find_xfer(struct rosm_conn *c)
{
	uint64_t off = c->owner ? c->owner->xfer_off :
				  atomic_load_explicit(&c->sctl->xfer_off,
						       memory_order_acquire);

	return off ? rosm_peer_rw(c->src, off,
				  XFER_BYTES + ROSM_BOUNCE_RING) : NULL;
}

static int make_xfer(struct rosm_conn *c)
{
	uint64_t off;
	int rc;

	rc = ru_shmalloc_get(&c->inst->rw_heap, XFER_BYTES + ROSM_BOUNCE_RING,
			     4096, &off);
	if (rc)
		return rc;
	/* why, was said once for the peer (move/cma.c) */
	RU_DBG("move", "qp 0x%x: bounces with qp 0x%x", c->src_qpn,
	       c->dst_qpn);
	c->owner->xfer_off = off;
	atomic_store_explicit(&c->sctl->xfer_off, off, memory_order_release);
	return 0;
}

/* Owner: the block belongs to this WQE from now on. */
static void open_xfer(struct rosm_conn *c, struct rosm_wire_xfer *x,
		      const struct rosm_op *op, uint64_t len)
{
	atomic_store_explicit(&x->state, ROSM_XFER_FREE, memory_order_relaxed);
	atomic_store_explicit(&x->produced, 0, memory_order_relaxed);
	atomic_store_explicit(&x->consumed, 0, memory_order_relaxed);
	x->len = len;
	x->seq = op->index;
	x->is_read = op->opcode == ROSM_WR_RDMA_READ;
	c->bounce.moved = 0;
	c->bounce_ns = 0;
	c->bounce_open = true;
	c->bounce_index = op->index;
	RU_KILL_POINT("assist.open");
	/* R-assist: publishes the transfer; pairs with A-assist below */
	atomic_store_explicit(&x->state, ROSM_XFER_OPEN, memory_order_release);
}

static int join_xfer(struct rosm_conn *c, struct rosm_wire_xfer *x,
		     const struct rosm_op *op, uint64_t len)
{
	/* A-assist: pairs with R-assist above */
	if (atomic_load_explicit(&x->state, memory_order_acquire) !=
		    ROSM_XFER_OPEN ||
	    x->seq != op->index || x->len != len)
		return -EAGAIN;
	if (!c->bounce_open || c->bounce_index != op->index) {
		c->bounce.moved = 0;
		c->bounce_open = true;
		c->bounce_index = op->index;
	}
	return 0;
}

/* The other side may sleep: its next call does the next step. */
static void call_for(struct rosm_conn *c)
{
	struct rosm_peer *other = c->owner ? c->dst : c->src;
	uint64_t off;
	struct rosm_wire_ring *hdr;

	if (c->owner) {
		rosm_peer_attend(other);
		hdr = c->tx.hdr;
	} else {
		off = atomic_load_explicit(&c->sqp->send_ring_off,
					   memory_order_relaxed);
		hdr = rosm_peer_rw(other, off, sizeof(*hdr));
	}
	if (hdr && hdr->bell && hdr->bell <= ROSM_WIRE_BELLS)
		rosm_peer_ring_bell(other, hdr->bell - 1);
}

int rosm_assist_move(struct rosm_conn *c, const struct rosm_op *op,
		     const struct rosm_end *src, const struct rosm_end *dst,
		     uint64_t len)
{
	bool owner = c->owner, sink = dst->peer->self;
	struct rosm_bounce *b = &c->bounce;
	struct rosm_wire_xfer *x = find_xfer(c);
	int64_t moved;
	int rc;

	if (!x) {
		rc = owner ? make_xfer(c) : -EAGAIN;
		if (rc)
			return rc;
		x = find_xfer(c);
	}
	if (!owner) {
		rc = join_xfer(c, x, op, len);
		if (rc)
			return rc;
	} else if (!c->bounce_open || c->bounce_index != op->index) {
		open_xfer(c, x, op, len);
	}
	b->xfer = x;
	b->ring = (uint8_t *)x + XFER_BYTES;
	b->ring_bytes = ROSM_BOUNCE_RING;
	b->total = len;
	b->want = len;
	moved = sink ? rosm_bounce_consume(b, dst->iov, dst->iov_count) :
		       rosm_bounce_produce(b, src->iov, src->iov_count);
	if (moved < 0)
		return (int)moved;
	if (moved)
		atomic_fetch_add_explicit(&c->inst->bounce_steps, 1,
					  memory_order_relaxed);
	if (moved)
		c->bounce_ns = 0;
	else if (owner && !c->bounce_ns)
		c->bounce_ns = ru_clock_ns();
	else if (owner && op->opcode != ROSM_WR_SEND &&
		 op->opcode != ROSM_WR_SEND_WITH_IMM)
		rosm_peer_is_silent(c->dst, c->bounce_ns);
	/* the sink's part is counted by its caller */
	if (moved && !sink && rosm_bounce_over(b))
		rosm_move_count(dst->peer, ROSM_MOVER_BOUNCE, true, len);
	if (moved || owner)
		call_for(c);
	if (!rosm_bounce_over(b) || !sink)
		return -EAGAIN;
	c->bounce_open = false;
	return 0;
}

void rosm_assist_fini(struct rosm_qp *qp)
{
	atomic_store_explicit(&qp->ctl->xfer_off, 0, memory_order_relaxed);
	if (qp->xfer_off)
		ru_shmalloc_put(&qp->inst->rw_heap, qp->xfer_off);
	qp->xfer_off = 0;
}
