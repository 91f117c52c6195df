/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues; see cq.h. */
#include <config.h>

#include "engine/cq.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/ctx.h"
#include "engine/device.h"
#include "engine/progress.h"
#include "engine/qp.h"
#include "util/fault.h"
#include "util/membarrier.h"

int rosm_cq_create(struct rosm_ctx *ctx, uint32_t cqe, struct rosm_channel *ch,
		   void *cookie, uint32_t *cqe_out, struct rosm_cq **cq_out)
{
	struct rosm_inst *inst = ctx->inst;
	struct rosm_cq *cq;
	uint32_t slots, size;
	int rc = -ENOMEM;

	if (!cqe || cqe > rosm_device_limits()->max_cqe ||
	    (ch && ch->ctx != ctx))
		return -EINVAL;
	cq = RU_FAIL_POINT("cq.alloc") ? NULL : calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	size = (uint32_t)ru_roundup_pow2(cqe);
	cq->cqe = calloc(size, sizeof(*cq->cqe));
	if (!cq->cqe)
		goto free_cq;
	slots = size < 64 ? 64 : size;
	if (slots > ROSM_CQ_MAX_SLOTS)
		slots = ROSM_CQ_MAX_SLOTS;
	rc = rosm_ring_create(&cq->ring, inst, slots, ROSM_CQ_CHUNKS,
			      ROSM_CQ_CHUNK_BYTES, ch ? ch->bell : 0);
	if (rc)
		goto free_cqe;
	cq->ctx = ctx;
	cq->inst = inst;
	cq->channel = ch;
	cq->cookie = cookie;
	cq->mask = size - 1;
	cq->cap = size;
	ru_lock_init(&cq->lock);
	ru_list_init(&cq->failed);
	ru_list_init(&cq->fire.link);
	cq->fire.hdr = cq->ring.hdr;
	cq->fire.cookie = cookie;
	if (ch)
		rosm_channel_attach(ch, &cq->fire);
	ru_lock_acquire(&inst->lock);
	ru_list_add_tail(&inst->cqs, &cq->link);
	ru_lock_release(&inst->lock);
	rosm_ctx_hold(ctx);
	*cqe_out = size;
	*cq_out = cq;
	return 0;

free_cqe:
	free(cq->cqe);
free_cq:
	free(cq);
	return rc;
}

int rosm_cq_destroy(struct rosm_cq *cq)
{
	if (atomic_load(&cq->refs))
		return -EBUSY;
	ru_lock_acquire(&cq->inst->lock);
	ru_list_del(&cq->link);
	ru_lock_release(&cq->inst->lock);
	if (cq->channel)
		rosm_channel_detach(cq->channel, &cq->fire);
	rosm_event_forget(&cq->ctx->events, cq);
	rosm_ring_destroy(&cq->ring);
	rosm_ctx_drop(cq->ctx);
	free(cq->cqe);
	free(cq);
	return 0;
}

int rosm_cq_resize(struct rosm_cq *cq, uint32_t cqe, uint32_t *cqe_out)
{
	struct rosm_cqe *fresh, *old;
	uint32_t size, i, n;

	if (!cqe || cqe > rosm_device_limits()->max_cqe)
		return -EINVAL;
	size = (uint32_t)ru_roundup_pow2(cqe);
	fresh = RU_FAIL_POINT("cq.resize") ? NULL :
					     calloc(size, sizeof(*fresh));
	if (!fresh)
		return -ENOMEM;
	ru_lock_acquire(&cq->lock);
	n = (uint32_t)(cq->tail - cq->head);
	if (n > size) {
		ru_lock_release(&cq->lock);
		free(fresh);
		return -EINVAL;
	}
	for (i = 0; i < n; i++)
		fresh[i] = cq->cqe[(cq->head + i) & cq->mask];
	old = cq->cqe;
	cq->cqe = fresh;
	cq->mask = size - 1;
	cq->cap = size;
	cq->head = 0;
	cq->tail = n;
	ru_lock_release(&cq->lock);
	free(old);
	*cqe_out = size;
	return 0;
}

static bool push_locked(struct rosm_cq *cq, const struct rosm_wc *wc,
			struct rosm_qp *qp, bool is_send, uint32_t sq_next)
{
	struct rosm_cqe *e;

	if (cq->tail - cq->head >= cq->cap) {
		if (!cq->overrun)
			rosm_event_push(&cq->ctx->events, ROSM_EVENT_CQ_ERR,
					cq, cq->cookie);
		cq->overrun = true;
		return false;
	}
	e = &cq->cqe[cq->tail++ & cq->mask];
	e->wc = *wc;
	e->qp = qp;
	e->sq_next = sq_next;
	e->is_send = is_send;
	e->dropped = false;
	return true;
}

void rosm_cq_push(struct rosm_cq *cq, const struct rosm_wc *wc,
		  struct rosm_qp *qp, bool is_send, uint32_t sq_next,
		  bool solicited)
{
	ru_lock_acquire(&cq->lock);
	push_locked(cq, wc, qp, is_send, sq_next);
	ru_lock_release(&cq->lock);
	if (cq->channel)
		rosm_ring_notify(cq->inst->self, cq->ring.hdr,
				 solicited || wc->status != ROSM_WC_SUCCESS);
}

/*
 * The next arrival as a completion, if there is one. Slots that complete
 * nothing are consumed on the way.
 */
static bool take_arrival_locked(struct rosm_cq *cq, struct rosm_wc *wc,
				struct rosm_qp **qp_out)
{
	struct rosm_wire_slot *slot;
	uint64_t pos;

	while ((slot = rosm_ring_peek(&cq->ring, &pos))) {
		bool again = false;
		bool done = rosm_arrival(cq, slot, pos, wc, qp_out, &again);

		if (again)
			return false;	/* its producer is reading it */
		rosm_ring_free(&cq->ring, pos);
		if (done)
			return true;
	}
	return false;
}

/* Private completions first: they are the older ones. */
static int poll_private_locked(struct rosm_cq *cq, int n, struct rosm_wc *wc)
{
	int got = 0;

	while (got < n && cq->head != cq->tail) {
		struct rosm_cqe *e = &cq->cqe[cq->head++ & cq->mask];

		if (e->dropped)
			continue;
		if (e->is_send)
			atomic_store_explicit(&e->qp->sq_tail, e->sq_next,
					      memory_order_release);
		wc[got++] = e->wc;
	}
	return got;
}

/*
 * A slot that stays claimed: its producer is slow, or died before we ever had
 * it as a peer. Asked rarely; the answer is proof (lock byte).
 */
static void doubt_claim_locked(struct rosm_cq *cq)
{
	struct rosm_ring *ring = &cq->ring;
	uint64_t word = atomic_load_explicit(
		&ring->slots[ring->head & ring->mask].word,
		memory_order_acquire);

	if (rosm_slot_word_state(word) != ROSM_SLOT_CLAIMED ||
	    ++cq->doubts % 8192)
		return;
	if (!rosm_dir_alive(cq->inst->dir, rosm_slot_word_who(word)))
		rosm_ring_reap(ring, rosm_slot_word_who(word));
}

int rosm_cq_poll(struct rosm_cq *cq, int n, struct rosm_wc *wc)
{
	struct rosm_qp *qp;
	bool failed;
	int got;

	if (n <= 0)
		return n ? -EINVAL : 0;
	ru_lock_acquire(&cq->lock);
	got = poll_private_locked(cq, n, wc);
	while (got < n && take_arrival_locked(cq, &wc[got], &qp))
		got++;
	if (!got) {
		doubt_claim_locked(cq);
		if (cq->overrun)
			got = -EIO;
	}
	failed = !ru_list_empty(&cq->failed);
	ru_lock_release(&cq->lock);
	if (ru_unlikely(failed))
		rosm_cq_settle(cq);
	if (got <= 0)
		rosm_progress(cq->inst);
	else if (ru_unlikely(rosm_progress_wanted(cq->inst)))
		rosm_progress_slow(cq->inst);
	if (got > 0)
		rosm_progress_busy(cq->inst);
	return got;
}

void rosm_cq_drain_locked(struct rosm_cq *cq)
{
	struct rosm_qp *qp;
	struct rosm_wc wc;

	while (take_arrival_locked(cq, &wc, &qp))
		push_locked(cq, &wc, qp, false, 0);
}

void rosm_cq_drain(struct rosm_cq *cq)
{
	ru_lock_acquire(&cq->lock);
	rosm_cq_drain_locked(cq);
	ru_lock_release(&cq->lock);
}

void rosm_cqs_drain(struct rosm_inst *inst)
{
	struct ru_list *l;

	ru_lock_acquire(&inst->lock);
	ru_list_for_each(l, &inst->cqs) {
		struct rosm_cq *cq = ru_list_entry(l, struct rosm_cq, link);

		ru_lock_acquire(&cq->lock);
		rosm_cq_drain_locked(cq);
		ru_lock_release(&cq->lock);
	}
	ru_lock_release(&inst->lock);
}

void rosm_cq_forget_locked(struct rosm_cq *cq, const struct rosm_qp *qp)
{
	uint64_t i;

	for (i = cq->head; i != cq->tail; i++)
		if (cq->cqe[i & cq->mask].qp == qp)
			cq->cqe[i & cq->mask].dropped = true;
}

void rosm_cq_settle(struct rosm_cq *cq)
{
	struct ru_list *l;

	/* keeps them from being destroyed by another thread meanwhile */
	pthread_mutex_lock(&cq->inst->serve_lock);
	for (;;) {
		ru_lock_acquire(&cq->lock);
		l = ru_list_pop_head(&cq->failed);
		ru_lock_release(&cq->lock);
		if (!l)
			break;
		rosm_qp_fail(ru_list_entry(l, struct rosm_qp, failed), -1);
	}
	pthread_mutex_unlock(&cq->inst->serve_lock);
}

int rosm_cq_arm(struct rosm_cq *cq, bool solicited)
{
	uint32_t want = solicited ? 2 : 1;

	if (!cq->channel)
		return 0;
	ru_lock_acquire(&cq->lock);
	/* any completion is the wider wish: a narrower one does not undo it */
	if (want == 1 || atomic_load_explicit(&cq->ring.hdr->armed,
					      memory_order_relaxed) != 1)
		atomic_store_explicit(&cq->ring.hdr->armed, want,
				      memory_order_relaxed);
	cq->want_event = true;
	ru_lock_release(&cq->lock);
	/* R-arm: pairs with A-arm in rosm_ring_notify */
	ru_membarrier();
	return 0;
}

void rosm_cq_peer_dead(struct rosm_cq *cq, struct rosm_peer *peer)
{
	uint64_t pos;
	bool fire;

	ru_lock_acquire(&cq->lock);
	rosm_ring_reap(&cq->ring, peer->who);
	fire = cq->want_event &&
	       !atomic_load_explicit(&cq->ring.hdr->armed,
				     memory_order_relaxed) &&
	       rosm_ring_peek(&cq->ring, &pos);
	ru_lock_release(&cq->lock);
	if (!fire || !cq->channel)
		return;
	/* it may have died between disarming and ringing */
	atomic_store_explicit(&cq->ring.hdr->fired, 1, memory_order_release);
	rosm_bell_ring(cq->channel->pipe[1]);
}
