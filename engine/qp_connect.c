/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one queue pair knows of the other: found by QPN in the directory at
 * INIT->RTR, mapped both ways, checked against the other's descriptor before
 * the first WQE runs.
 */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "engine/device.h"
#include "engine/directory.h"
#include "engine/pd.h"
#include "engine/qp.h"
#include "util/log.h"
#include "util/membarrier.h"

static struct rosm_wire_qp *descriptor(struct rosm_peer *peer, uint32_t index)
{
	if (index >= ROSM_WIRE_QPS)
		return NULL;
	return (struct rosm_wire_qp *)((char *)peer->ro + ROSM_RO_QP_OFF) +
	       index;
}

static struct rosm_wire_qpctl *control(struct rosm_peer *peer, uint32_t index)
{
	return (struct rosm_wire_qpctl *)((char *)peer->rw +
					  ROSM_RW_QPCTL_OFF) + index;
}

/* The directory's hint is checked; a wrong one costs a scan. */
static int find_index(struct rosm_peer *peer, uint32_t qpn, uint64_t hint,
		      uint32_t *index_out)
{
	uint32_t i, n = atomic_load_explicit(&peer->roh->qps,
					     memory_order_acquire);

	if (n > ROSM_WIRE_QPS)
		n = ROSM_WIRE_QPS;
	if (hint < n &&
	    atomic_load_explicit(&descriptor(peer, (uint32_t)hint)->qpn,
				 memory_order_acquire) == qpn) {
		*index_out = (uint32_t)hint;
		return 0;
	}
	for (i = 0; i < n; i++)
		if (atomic_load_explicit(&descriptor(peer, i)->qpn,
					 memory_order_acquire) == qpn) {
			*index_out = i;
			return 0;
		}
	return -EHOSTUNREACH;
}

/* QPNs are unique on a node only: what is on another one is not looked for. */
static bool is_here(const struct rosm_qp *qp)
{
	const struct rosm_ah_attr *ah = &qp->attr.ah;
	struct rosm_port port;

	rosm_device_port_of(qp->inst->dir, &port);
	return ah->dlid == port.lid ||
	       (ah->is_global &&
		!memcmp(ah->grh.dgid, port.gid, sizeof(port.gid)));
}

static int forward(struct rosm_conn *c, struct rosm_qp *qp)
{
	struct rosm_inst *inst = qp->inst;
	uint32_t qpn = qp->attr.dest_qp_num, index;
	struct rosm_peer *peer;
	uint64_t who, hint;
	int rc;

	memset(c, 0, sizeof(*c));
	c->inst = inst;
	c->owner = qp;
	c->src = inst->self;
	c->sqp = qp->d;
	c->sctl = qp->ctl;
	c->src_qpn = qp->qpn;
	c->src_pd = qp->pd->number;
	c->dst_qpn = qpn;
	if (!is_here(qp))
		return -EHOSTUNREACH;
	rc = rosm_dir_lookup(inst->dir, ROSM_DIR_T_QPN, qpn, &who, &hint);
	if (rc)		/* it was there, and went before it answered */
		return qp->contact == -EAGAIN || qp->contact == -ECONNABORTED ?
			       -ECONNABORTED : -EHOSTUNREACH;
	rc = rosm_peer_get(inst, who, &peer);
	if (rc)
		return rc;
	rc = find_index(peer, qpn, hint, &index);
	if (rc)
		return rc;
	c->dst_index = index;
	c->dqp = descriptor(peer, index);
	c->dctl = control(peer, index);
	c->dst = peer;
	return 0;
}

/*
 * R-attn, R-stall as in rosm_sq_stall_locked(), which knew nobody to tell: what
 * waits is the peer's to run from now on.
 */
int rosm_conn_forward_locked(struct rosm_qp *qp)
{
	struct rosm_conn fresh;

	qp->contact = forward(&fresh, qp);
	if (qp->contact)
		return qp->contact;
	qp->conn = fresh;
	atomic_store_explicit(&qp->d->dest_who, fresh.dst->who,
			      memory_order_relaxed);
	if (qp->stalled) {
		rosm_peer_attend(fresh.dst);
		ru_membarrier();
	}
	return 0;
}

int rosm_conn_backward(struct rosm_conn *c, struct rosm_qp *qp,
		       struct rosm_peer *src, uint32_t src_index)
{
	struct rosm_wire_qp *sqp = descriptor(src, src_index);

	memset(c, 0, sizeof(*c));
	if (!sqp)
		return -EINVAL;
	c->inst = qp->inst;
	c->src = src;
	c->dst = qp->inst->self;
	c->sqp = sqp;
	c->sctl = control(src, src_index);
	c->src_qpn = atomic_load_explicit(&sqp->qpn, memory_order_relaxed);
	c->src_gen = atomic_load_explicit(&sqp->gen, memory_order_relaxed);
	c->src_pd = atomic_load_explicit(&sqp->pd, memory_order_relaxed);
	c->dst_qpn = qp->qpn;
	c->dst_index = qp->index;
	c->dqp = qp->d;
	c->dctl = qp->ctl;
	return 0;
}

/* First contact: is it the QP that was meant, and does it mean us? */
static bool bring_up(struct rosm_conn *c)
{
	struct rosm_wire_qp *d = c->dqp;
	uint64_t recvs, off;
	uint32_t mask, stride, gen;

	gen = atomic_load_explicit(&d->gen, memory_order_acquire);
	if (atomic_load_explicit(&d->qpn, memory_order_acquire) != c->dst_qpn ||
	    atomic_load_explicit(&d->type, memory_order_relaxed) !=
		    ROSM_QPT_RC ||
	    atomic_load_explicit(&d->dest_qpn, memory_order_relaxed) !=
		    c->src_qpn)
		return false;
	mask = atomic_load_explicit(&d->rq_mask, memory_order_relaxed);
	stride = atomic_load_explicit(&d->rq_stride, memory_order_relaxed);
	recvs = (uint64_t)mask + 1;
	if ((recvs & mask) || stride < sizeof(struct rosm_wire_recv) ||
	    stride > 4096 || (stride & 7))
		return false;
	off = atomic_load_explicit(&d->rq_off, memory_order_relaxed);
	c->rq = rosm_peer_ro(c->dst, off, recvs * stride);
	off = atomic_load_explicit(&d->sum_off, memory_order_relaxed);
	c->sums = rosm_peer_ro(c->dst, off, recvs * sizeof(*c->sums));
	off = atomic_load_explicit(&d->ring_off, memory_order_relaxed);
	if (!c->rq || !c->sums || rosm_ring_tx_init(&c->tx, c->dst, off)) {
		RU_WARN("qp", "qp 0x%x: the descriptor of qp 0x%x makes no sense",
			c->src_qpn, c->dst_qpn);
		return false;
	}
	c->rq_mask = mask;
	c->rq_stride = stride;
	c->dst_gen = gen;
	c->dst_pd = atomic_load_explicit(&d->pd, memory_order_relaxed);
	c->credit = c->taken;
	c->up = true;
	return true;
}

bool rosm_conn_ready(struct rosm_conn *c)
{
	/* A-state: pairs with R-state in qp_modify.c */
	uint32_t state = atomic_load_explicit(&c->dqp->state,
					      memory_order_acquire);

	if (ru_unlikely(state < ROSM_QPS_RTR + 1 || state > ROSM_QPS_SQE + 1))
		return false;
	if (ru_unlikely(!c->up))
		return bring_up(c);
	if (ru_likely(atomic_load_explicit(&c->dqp->gen,
					   memory_order_relaxed) ==
		      c->dst_gen))
		return true;
	/* it was reset since: nothing was sent yet, or nobody is there */
	if (c->taken)
		return false;
	c->up = false;
	return bring_up(c);
}
