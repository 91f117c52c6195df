/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an RD endpoint keeps for outstanding operations: their records with the
 * blocks that peers answer into, in slabs that only grow until it goes, and
 * bounce rings. Sends and writes take what is there; more comes from poll.
 *
 * _locked: rd->lock. Slabs are made by the owner, rings also by who serves.
 */
#include <config.h>

#include "engine/rd.h"

#include <errno.h>
#include <stdlib.h>

#include "util/fault.h"

#define OPS_FIRST	128u	/* made with the endpoint */
#define SLAB_MAX	1024u

/* Who takes us for dead may be late with a last store into a block. */
static void give_back(struct rosm_rd *rd, uint64_t off)
{
	if (!rd->lost)
		ru_shmalloc_put(&rd->inst->rw_heap, off);
}

/* ---- bounce rings --------------------------------------------------- */

static struct rosm_rd_bring *bring_new(struct rosm_inst *inst)
{
	struct rosm_rd_bring *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	if (ru_shmalloc_get(&inst->rw_heap, ROSM_BOUNCE_RING, 4096, &r->off)) {
		free(r);
		return NULL;
	}
	ru_list_init(&r->link);
	return r;
}

static void bring_free(struct rosm_rd *rd, struct rosm_rd_bring *r)
{
	give_back(rd, r->off);
	free(r);
}

struct rosm_rd_bring *rosm_rd_bring_get_locked(struct rosm_rd *rd)
{
	struct ru_list *l = ru_list_pop_head(&rd->brings);

	return l ? ru_list_entry(l, struct rosm_rd_bring, link) : NULL;
}

struct rosm_rd_bring *rosm_rd_bring_make_locked(struct rosm_rd *rd)
{
	struct rosm_rd_bring *r = rosm_rd_bring_get_locked(rd);

	if (r || rd->bring_count == ROSM_RD_RINGS_MAX)
		return r;
	r = bring_new(rd->inst);
	rd->bring_count += r != NULL;
	return r;
}

/* ---- operations ----------------------------------------------------- */

static struct rosm_rd_slab *slab_new(struct rosm_rd *rd)
{
	uint32_t n = ru_min(rd->ops ? rd->ops : OPS_FIRST, SLAB_MAX), i;
	struct rosm_rd_slab *slab;

	if (rd->ops + n > ROSM_RD_OPS_MAX || RU_FAIL_POINT("rd.ops"))
		return NULL;
	slab = calloc(1, sizeof(*slab) + n * sizeof(slab->op[0]));
	if (!slab)
		return NULL;
	if (ru_shmalloc_get(&rd->inst->rw_heap,
			    n * sizeof(struct rosm_wire_xfer), 64,
			    &slab->off)) {
		free(slab);
		return NULL;
	}
	slab->count = n;
	for (i = 0; i < n; i++) {
		struct rosm_rd_op *op = &slab->op[i];

		op->own_off = slab->off + i * sizeof(struct rosm_wire_xfer);
		op->own = ru_shmalloc_ptr(&rd->inst->rw_heap, op->own_off);
	}
	return slab;
}

static void slab_add_locked(struct rosm_rd *rd, struct rosm_rd_slab *slab)
{
	uint32_t i;

	for (i = 0; i < slab->count; i++)
		ru_list_add_tail(&rd->free_ops, &slab->op[i].link);
	ru_list_add_tail(&rd->slabs, &slab->link);
	rd->ops += slab->count;
}

int rosm_rd_op_init(struct rosm_rd *rd)
{
	struct rosm_rd_slab *slab = slab_new(rd);

	if (!slab)
		return -ENOMEM;
	slab_add_locked(rd, slab);	/* nobody else knows rd */
	return 0;
}

/* The next poll sees it, for it looks at active. */
static void want(struct rosm_rd *rd, bool *what)
{
	if (*what)
		return;
	*what = true;
	atomic_fetch_add_explicit(&rd->active, 1, memory_order_relaxed);
}

void rosm_rd_want_ring(struct rosm_rd *rd)
{
	want(rd, &rd->want_ring);
}

/* What cannot be had now is asked for again by the next call that lacks it. */
void rosm_rd_grow(struct rosm_rd *rd)
{
	struct rosm_rd_slab *slab = NULL;
	struct rosm_rd_bring *ring = NULL;

	if (rd->want_ops) {
		rd->want_ops = false;
		slab = slab_new(rd);
		atomic_fetch_sub_explicit(&rd->active, 1,
					  memory_order_relaxed);
	}
	if (rd->want_ring) {
		rd->want_ring = false;
		ring = bring_new(rd->inst);
		atomic_fetch_sub_explicit(&rd->active, 1,
					  memory_order_relaxed);
	}
	ru_lock_acquire(&rd->lock);
	if (slab)
		slab_add_locked(rd, slab);
	if (ring && rd->bring_count < ROSM_RD_RINGS_MAX) {
		ru_list_add_tail(&rd->brings, &ring->link);
		rd->bring_count++;
		ring = NULL;
	}
	ru_lock_release(&rd->lock);
	if (ring)
		bring_free(rd, ring);
}

/*
 * What the owner asks for gets no memory here, so that a send never waits for
 * the kernel: the next poll adds to the pool. What peers ask for comes from
 * poll and pull, and has to be had.
 */
struct rosm_rd_op *rosm_rd_op_get_locked(struct rosm_rd *rd,
					 enum rosm_rd_kind kind)
{
	struct rosm_rd_op *op;
	struct ru_list *l = ru_list_pop_head(&rd->free_ops);

	if (ru_unlikely(!l && kind >= ROSM_RD_OP_PULL)) {
		struct rosm_rd_slab *slab = slab_new(rd);

		if (slab)
			slab_add_locked(rd, slab);
		l = ru_list_pop_head(&rd->free_ops);
	}
	if (ru_unlikely(ru_list_empty(&rd->free_ops)))
		want(rd, &rd->want_ops);
	if (!l)
		return NULL;
	op = ru_list_entry(l, struct rosm_rd_op, link);
	op->kind = (uint8_t)kind;
	op->mover = ROSM_MOVER_CMA;
	op->counted = false;
	op->bouncing = false;
	op->source = false;
	op->has_data = false;
	op->heard_ns = 0;
	op->status = 0;
	op->their_iov_count = 0;
	op->bring = NULL;
	op->xfer = op->own;
	op->seq++;
	if (!op->seq)
		op->seq = 1;
	atomic_fetch_add_explicit(&rd->active, 1, memory_order_relaxed);
	return op;
}

void rosm_rd_op_put_locked(struct rosm_rd *rd, struct rosm_rd_op *op)
{
	if (op->bring) {
		ru_list_add_head(&rd->brings, &op->bring->link);
		op->bring = NULL;
	}
	op->peer = NULL;
	ru_list_add_head(&rd->free_ops, &op->link);
	atomic_fetch_sub_explicit(&rd->active, 1, memory_order_relaxed);
}

void rosm_rd_op_fini(struct rosm_rd *rd)
{
	struct ru_list *l;

	while ((l = ru_list_pop_head(&rd->brings)))
		bring_free(rd, ru_list_entry(l, struct rosm_rd_bring, link));
	while ((l = ru_list_pop_head(&rd->slabs))) {
		struct rosm_rd_slab *s =
			ru_list_entry(l, struct rosm_rd_slab, link);

		give_back(rd, s->off);
		free(s);
	}
}
