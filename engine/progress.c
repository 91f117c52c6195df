/* SPDX-License-Identifier: BSD-2-Clause */
/* What calls do for others; see progress.h. */
#include <config.h>

#include "engine/progress.h"

#include "engine/ctx.h"
#include "engine/directory.h"
#include "engine/presence.h"
#include "engine/qp.h"
#include "engine/rd.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <sched.h>

/* A yield that took longer let somebody else run, ... */
#define YIELD_RAN_NS	1000u
/* ... and one that took longer than this met one that computes. */
#define YIELD_SPINNER_NS	100000u

/*
 * Who was back soon, but not at once, shares its core with others that spin
 * and yield: waiting longer before the next offer would only delay the one of
 * them that has work. Nobody there, or somebody who keeps the core for a time
 * slice: offers are rarer.
 */
void rosm_progress_yield(struct rosm_inst *inst)
{
	uint32_t max = atomic_load_explicit(&inst->idle_max,
					    memory_order_relaxed);
	uint64_t ns = ru_ticks();

	sched_yield();
	ns = ru_ticks_to_ns(ru_ticks() - ns);
	if (ns > YIELD_RAN_NS && ns < YIELD_SPINNER_NS)
		max = ru_max(max / 2, ROSM_IDLE_POLLS_MIN);
	else
		max = ru_min(max * 2, ROSM_IDLE_POLLS_MAX);
	atomic_store_explicit(&inst->idle_max, max, memory_order_relaxed);
	/* the next offer of this wait comes after an eighth of that */
	atomic_store_explicit(&inst->idle, max - max / 8,
			      memory_order_relaxed);
}

void rosm_ctx_progress(struct rosm_ctx *ctx)
{
	rosm_progress(ctx->inst);
}

/* Our QP that the peer's QP at src_index is connected to. */
static void serve_qp(struct rosm_inst *inst, struct rosm_peer *peer,
		     uint32_t src_index)
{
	struct rosm_wire_qp *sqp =
		(struct rosm_wire_qp *)((char *)peer->ro + ROSM_RO_QP_OFF) +
		src_index;
	uint64_t who, index;
	struct rosm_qp *qp;
	uint32_t qpn;

	if (!atomic_load_explicit(&sqp->stalled, memory_order_acquire))
		return;
	qpn = atomic_load_explicit(&sqp->dest_qpn, memory_order_relaxed);
	if (rosm_dir_lookup(inst->dir, ROSM_DIR_T_QPN, qpn, &who, &index) ||
	    who != inst->who || index >= ROSM_WIRE_QPS)
		return;
	qp = rosm_qp_at(inst, (uint32_t)index);
	if (qp && qp->qpn == qpn)
		rosm_sq_assist(qp, peer, src_index);
}

static void serve_peer(struct rosm_inst *inst, struct rosm_peer *peer)
{
	uint32_t words, w;

	if (atomic_load_explicit(&peer->dead, memory_order_relaxed))
		return;
	words = (atomic_load_explicit(&peer->roh->qps, memory_order_relaxed) +
		 63) / 64;
	if (words > ROSM_WIRE_STALL_WORDS)
		words = ROSM_WIRE_STALL_WORDS;
	for (w = 0; w < words; w++) {
		uint64_t bits = atomic_load_explicit(&peer->roh->stalled[w],
						     memory_order_acquire);

		for (; bits; bits &= bits - 1)
			serve_qp(inst, peer,
				 w * 64 + (uint32_t)__builtin_ctzll(bits));
	}
}

/* As if it asked once more; the groups to be set afterwards. */
static uint64_t attend_again(struct rosm_inst *inst, uint32_t slot)
{
	atomic_fetch_or_explicit(&inst->rwh->attn[slot / 64],
				 1ull << slot % 64, memory_order_relaxed);
	return 1ull << slot / 64;
}

/*
 * A-attn: waiters set their bit first, then the summary (R-attn in peer.c);
 * clear in the other order.
 */
static void serve_attn(struct rosm_inst *inst)
{
	uint64_t groups = atomic_exchange_explicit(&inst->rwh->attn_sum, 0,
						   memory_order_acq_rel);
	uint64_t unmet = 0;

	for (; groups; groups &= groups - 1) {
		uint32_t g = (uint32_t)__builtin_ctzll(groups);
		uint64_t bits = atomic_exchange_explicit(&inst->rwh->attn[g], 0,
							 memory_order_acq_rel);

		for (; bits; bits &= bits - 1) {
			uint32_t slot = g * 64 +
					(uint32_t)__builtin_ctzll(bits);
			struct rosm_peer *peer;

			peer = atomic_load_explicit(&inst->peers[slot],
						    memory_order_acquire);
			if (!peer) {
				uint32_t gen = atomic_load(
					&inst->dir->insts[slot].gen);
				int rc = !gen ? -ESRCH :
					 rosm_peer_get(inst,
						       rosm_wire_who(slot, gen),
						       &peer);

				if (rc == -EAGAIN)	/* when it answers */
					unmet |= attend_again(inst, slot);
				if (rc)
					continue;
			}
			serve_peer(inst, peer);
		}
	}
	if (unmet)
		atomic_fetch_or_explicit(&inst->rwh->attn_sum, unmet,
					 memory_order_release);
}

/* Errors that peers found against QPs of ours. */
static void act_on_naks(struct rosm_inst *inst)
{
	uint32_t i, n;

	/* A-nak: pairs with R-nak in requester.c */
	inst->naks_seen = atomic_load_explicit(&inst->rwh->naks,
					       memory_order_acquire);
	n = atomic_load_explicit(&inst->roh->qps, memory_order_relaxed);
	for (i = 0; i < n; i++) {
		struct rosm_qp *qp = rosm_qp_at(inst, i);
		uint32_t nak, gen;

		if (!qp)
			continue;
		gen = atomic_load_explicit(&qp->ctl->nak_gen,
					   memory_order_relaxed);
		nak = atomic_exchange_explicit(&qp->ctl->nak, 0,
					       memory_order_acq_rel);
		if (nak && gen == atomic_load_explicit(&qp->d->gen,
						       memory_order_relaxed))
			rosm_qp_fail(qp,
				     nak - 1 == ROSM_WC_REM_ACCESS_ERR ?
					     ROSM_EVENT_QP_ACCESS_ERR :
					     ROSM_EVENT_QP_REQ_ERR);
	}
}

/* Our own send queues that wait. */
static void kick_busy(struct rosm_inst *inst)
{
	unsigned int n = atomic_load_explicit(&inst->busy_count,
					      memory_order_relaxed);

	while (n--) {
		struct rosm_qp *qp = NULL;
		struct ru_list *l;
		bool failed;

		ru_lock_acquire(&inst->busy_lock);
		l = ru_list_pop_head(&inst->qp_busy);
		if (l) {
			ru_list_add_tail(&inst->qp_busy, l);
			qp = ru_list_entry(l, struct rosm_qp, busy);
		}
		ru_lock_release(&inst->busy_lock);
		if (!qp || !ru_lock_try(&qp->sq_lock))
			continue;
		failed = rosm_sq_kick_locked(qp);
		if (failed)
			rosm_qp_fail_send_locked(qp);
		ru_lock_release(&qp->sq_lock);
		if (failed)
			rosm_qp_fail_recv(qp);
	}
}

/* Every QP that is connected to it goes to ERR; nothing stays claimed. */
void rosm_qp_peer_dead(struct rosm_inst *inst, struct rosm_peer *peer)
{
	struct ru_list *l;
	uint32_t i, n;

	ru_lock_acquire(&inst->lock);
	ru_list_for_each(l, &inst->cqs)
		rosm_cq_peer_dead(ru_list_entry(l, struct rosm_cq, link), peer);
	ru_lock_release(&inst->lock);
	n = atomic_load_explicit(&inst->roh->qps, memory_order_relaxed);
	for (i = 0; i < n; i++) {
		struct rosm_qp *qp = rosm_qp_at(inst, i);
		bool in_order;

		if (!qp || qp->conn.dst != peer)
			continue;
		ru_lock_acquire(&qp->sq_lock);
		/* it destroyed its QP in order: nothing is owed to receives */
		in_order = atomic_load_explicit(&qp->conn.dqp->qpn,
						memory_order_acquire) !=
				   qp->conn.dst_qpn &&
			   qp->sq_comp == qp->sq_head;
		if (!in_order && qp->sq_comp == qp->sq_head &&
		    rosm_qp_state(qp) != ROSM_QPS_ERR)
			qp->owed = ROSM_WC_RETRY_EXC_ERR;
		rosm_sq_peer_dead_locked(qp);
		ru_lock_release(&qp->sq_lock);
		if (!in_order)
			rosm_qp_fail(qp, -1);
	}
}

static void reap(struct rosm_inst *inst)
{
	for (;;) {
		struct rosm_peer *peer = NULL;
		struct ru_list *l;

		ru_lock_acquire(&inst->lock);
		ru_list_for_each(l, &inst->dead_list) {
			peer = ru_list_entry(l, struct rosm_peer, link);
			if (!peer->reaping)
				break;
			peer = NULL;
		}
		if (peer) {
			peer->reaping = true;
			atomic_fetch_sub_explicit(&inst->dead_count, 1,
						  memory_order_relaxed);
		}
		ru_lock_release(&inst->lock);
		if (!peer)
			return;
		RU_INFO("peer", "process %d is gone", (int)peer->pid);
		rosm_qp_peer_dead(inst, peer);
		rosm_rd_peer_dead(inst, peer);
		/* from here on its segments may be unmapped */
		ru_lock_acquire(&inst->lock);
		peer->reaped = true;
		ru_lock_release(&inst->lock);
	}
}

/*
 * One thread serves at a time; serve_lock also keeps the QPs that it finds
 * from being destroyed meanwhile. Who does not get it leaves the work to who
 * has it, or to the next call: every word that says "wanted" stays set.
 */
void rosm_progress_attn(struct rosm_inst *inst)
{
	do {
		if (pthread_mutex_trylock(&inst->serve_lock)) {
			/* whoever has it looks once more for us */
			atomic_store(&inst->serve_again, 1);
			if (pthread_mutex_trylock(&inst->serve_lock))
				return;
		}
		serve_attn(inst);
		pthread_mutex_unlock(&inst->serve_lock);
	} while (atomic_exchange(&inst->serve_again, 0));
}

/* Others take this process for dead: its connections to them are over. */
static void fail_lost(struct rosm_inst *inst)
{
	uint32_t i, n = atomic_load_explicit(&inst->roh->qps,
					     memory_order_relaxed);

	for (i = 0; i < n; i++) {
		struct rosm_qp *qp = rosm_qp_at(inst, i);

		if (qp && qp->conn.dst && !qp->conn.dst->local)
			rosm_qp_fail(qp, ROSM_EVENT_QP_FATAL);
	}
	atomic_store_explicit(&inst->lost_told, true, memory_order_relaxed);
}

void rosm_progress_slow(struct rosm_inst *inst)
{
	rosm_contact_serve(inst);
	if (pthread_mutex_trylock(&inst->serve_lock))
		return;
	if (atomic_load_explicit(&inst->rwh->attn_sum, memory_order_relaxed))
		serve_attn(inst);
	if (atomic_load_explicit(&inst->rwh->naks, memory_order_relaxed) !=
	    inst->naks_seen)
		act_on_naks(inst);
	if (atomic_load_explicit(&inst->busy_count, memory_order_relaxed))
		kick_busy(inst);
	if (rosm_rd_wants_service(inst))
		rosm_rd_serve(inst);
	if (ru_unlikely(rosm_inst_is_lost(inst) &&
			!atomic_load_explicit(&inst->lost_told,
					      memory_order_relaxed)))
		fail_lost(inst);
	rosm_peers_watch(inst);
	if (atomic_load_explicit(&inst->dead_count, memory_order_relaxed))
		reap(inst);
	pthread_mutex_unlock(&inst->serve_lock);
	if (ru_unlikely(atomic_load_explicit(&inst->serve_again,
					     memory_order_relaxed)))
		rosm_progress_attn(inst);
}
