/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD endpoints and their peers: creation, contact, death, destruction. Owner
 * and threads: rd.h. Layout: engine/wire/ring.h, xfer.h, qp.h.
 *
 * A peer is known by (instance, QPN): QPNs are unique among the living only.
 * It is met either by name, before any contact, or by its first message.
 */
#include <config.h>

#include "engine/rd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/name.h"
#include "engine/pd.h"
#include "engine/qpindex.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/log.h"

#define CLAIM_CHECK_NS	10000000ull
#define RETRY_MIN_NS	1000000ull	/* between attempts at a contact */
#define ASKED_NS	20000ull	/* likewise, when an answer may be there */

/* Guards inst->rds; held while another thread's progress serves. */
static struct ru_lock rds_lock;

/* ---- peers ---------------------------------------------------------- */

static uint32_t bucket_of(const struct rosm_rd *rd, uint32_t qpn)
{
	return (qpn ^ qpn >> 9) & rd->bucket_mask;
}

/* foreign: the whole name, of another node; NULL: of this one. */
static struct rosm_rd_peer *peer_find(struct rosm_rd *rd, uint32_t qpn,
				      uint64_t who,
				      const struct rosm_wire_name *foreign)
{
	struct rosm_rd_peer *p;

	for (p = rd->buckets[bucket_of(rd, qpn)]; p; p = p->next) {
		if (p->qpn != qpn || p->who != who)
			continue;
		if (foreign ? p->foreign && !memcmp(p->foreign, foreign,
						    sizeof(*foreign)) :
			      !p->foreign)
			return p;
	}
	return NULL;
}

/* At most one peer a bucket on average; keeps the old table on ENOMEM. */
static void buckets_grow(struct rosm_rd *rd)
{
	uint32_t mask = rd->bucket_mask * 2 + 1;
	struct rosm_rd_peer **grown = calloc(mask + 1u, sizeof(*grown));
	struct ru_list *l;

	if (!grown)
		return;
	free(rd->buckets);
	rd->buckets = grown;
	rd->bucket_mask = mask;
	ru_list_for_each(l, &rd->peers) {
		struct rosm_rd_peer *p =
			ru_list_entry(l, struct rosm_rd_peer, link);
		struct rosm_rd_peer **b = &grown[bucket_of(rd, p->qpn)];

		p->next = *b;
		*b = p;
	}
}

static struct rosm_rd_peer *peer_new(struct rosm_rd *rd, uint32_t qpn,
				     uint64_t who)
{
	struct rosm_rd_peer *p = aligned_alloc(RU_CACHELINE, sizeof(*p));
	struct rosm_rd_peer **b;

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->qpn = qpn;
	p->who = who;
	p->inst = rd->inst;
	p->cookie = ~0ull;
	if (rd->peer_count > rd->bucket_mask)
		buckets_grow(rd);
	b = &rd->buckets[bucket_of(rd, qpn)];
	p->next = *b;
	*b = p;
	ru_list_add_tail(&rd->peers, &p->link);
	rd->peer_count++;
	return p;
}

void rosm_rd_peer_down(struct rosm_rd *rd, struct rosm_rd_peer *p, int err)
{
	atomic_store_explicit(&p->state, ROSM_RD_DOWN, memory_order_relaxed);
	p->err = err;
	if (err == -ECONNABORTED && !p->dying) {
		p->dying = 1;
		rd->untold++;
	}
}

/* The peer's descriptor, as the directory's hint has it; checked. */
static int find_desc(struct rosm_rd *rd, struct rosm_rd_peer *p)
{
	const struct rosm_wire_qp *d;
	uint64_t who, aux;
	int rc;

	rc = rosm_dir_lookup(rd->inst->dir, ROSM_DIR_T_QPN, p->qpn, &who, &aux);
	if (rc || who != p->who)
		return -ECONNABORTED;	/* the instance lives, it does not */
	p->index = (uint32_t)aux;
	if (!(aux & ROSM_RD_AUX) || p->index >= ROSM_WIRE_QPS)
		return -EHOSTUNREACH;
	d = rosm_peer_ro(p->peer, ROSM_RO_QP_OFF + p->index * sizeof(*d),
			 sizeof(*d));
	/* A-rddesc: pairs with R-rddesc in rosm_rd_create */
	if (!d || atomic_load_explicit(&d->qpn, memory_order_acquire) != p->qpn)
		return -ECONNABORTED;
	if (atomic_load_explicit(&d->type, memory_order_relaxed) !=
	    ROSM_QPT_RD)
		return -EHOSTUNREACH;
	p->desc = d;
	return rosm_ring_tx_init(&p->tx, p->peer,
				 atomic_load_explicit(&d->ring_off,
						      memory_order_relaxed));
}

/* One attempt; -EHOSTUNREACH, -EAGAIN and -ENOMEM may be otherwise later. */
static int contact_once(struct rosm_rd *rd, struct rosm_rd_peer *p)
{
	struct rosm_peer *peer;
	int rc;

	if (rosm_inst_is_lost(rd->inst))
		return -ECONNABORTED;
	rc = rosm_peer_get(rd->inst, p->who, &peer);
	if (rc)
		return rc;
	if (!p->peer)	/* else another thread may be reading it */
		p->peer = peer;
	return find_desc(rd, p);
}

/*
 * A peer that was not there is looked for again, but not sooner than the
 * attempt took. -EAGAIN: it was asked by socket (contact.c), answers in its
 * next call, and until then nothing can be sent to it.
 */
int rosm_rd_contact(struct rosm_rd *rd, struct rosm_rd_peer *p)
{
	uint64_t start, now;
	int rc;

	if (rosm_rd_state(p) == ROSM_RD_DOWN)
		return p->err;
	if (p->foreign) {
		rosm_rd_peer_down(rd, p, -EHOSTUNREACH);
		return p->err;
	}
	start = ru_clock_ns();
	if (start < p->retry_ns)
		return p->err;
	rc = contact_once(rd, p);
	if (rc == -EHOSTUNREACH) {
		now = ru_clock_ns();
		p->err = rc;
		p->retry_ns = now + ru_max(now - start, RETRY_MIN_NS);
	} else if (rc == -EAGAIN) {
		p->err = rc;
		p->retry_ns = start + ASKED_NS;
	} else if (!rc) {
		/* R-rdup: what find_desc() found; A-rdup in rosm_rd_wake */
		atomic_store_explicit(&p->state, ROSM_RD_UP,
				      memory_order_release);
	} else if (rc != -ENOMEM) {
		/* refused: there is no way to it (one line says why) */
		if (rc == -EACCES || rc == -EPROTO)
			rc = -EHOSTUNREACH;
		rosm_rd_peer_down(rd, p, rc);
	}
	return rc;
}

void rosm_rd_ask_again(struct rosm_rd *rd)
{
	struct ru_list *l;
	int rc;

	ru_list_for_each(l, &rd->peers) {
		struct rosm_rd_peer *p =
			ru_list_entry(l, struct rosm_rd_peer, link);

		rc = p->asked ? rosm_rd_up(rd, p) : -EAGAIN;
		if (rc == -EAGAIN)
			continue;
		p->asked = 0;
		rd->asked--;
		if (rosm_rd_state(p) != ROSM_RD_DOWN || p->dying)
			continue;
		/* refused: for who waits that is as good as dead */
		p->dying = 1;
		rd->untold++;
	}
}

struct rosm_rd_peer *rosm_rd_peer_of(struct rosm_rd *rd, uint32_t qpn,
				     uint64_t who)
{
	struct rosm_rd_peer *p = rd->last;

	if (ru_likely(p && p->qpn == qpn && p->who == who))
		return p;
	p = peer_find(rd, qpn, who, NULL);
	if (!p)
		p = peer_new(rd, qpn, who);
	if (!p)
		return NULL;
	/* it may have ended before we could map it; what it sent counts */
	if (rosm_rd_state(p) == ROSM_RD_NEW)
		(void)rosm_rd_contact(rd, p);
	if (rosm_rd_state(p) != ROSM_RD_NEW)
		rd->last = p;
	return p;
}

int rosm_rd_peer_get(struct rosm_rd *rd, const uint8_t name[ROSM_NAME_BYTES],
		     struct rosm_rd_peer **peer_out)
{
	struct rosm_wire_name n, *foreign = NULL;
	struct rosm_rd_peer *p;
	bool here;

	if (!rosm_name_valid(name, ROSM_NAME_BYTES))
		return -EINVAL;
	memcpy(&n, name, sizeof(n));
	here = rosm_name_is_here(rd->inst, &n);
	p = peer_find(rd, n.qpn, n.who, here ? NULL : &n);
	if (p)
		goto found;
	if (!here) {
		foreign = malloc(sizeof(*foreign));
		if (!foreign)
			return -ENOMEM;
		*foreign = n;
	}
	p = peer_new(rd, n.qpn, n.who);
	if (!p) {
		free(foreign);
		return -ENOMEM;
	}
	p->foreign = foreign;
found:
	p->refs++;
	*peer_out = p;
	return 0;
}

void rosm_rd_peer_put(struct rosm_rd *rd, struct rosm_rd_peer *peer)
{
	(void)rd;
	if (peer->refs)
		peer->refs--;	/* what it knows is kept for the next get */
}

int rosm_rd_peer_contact(struct rosm_rd *rd, struct rosm_rd_peer *peer)
{
	int rc = rosm_rd_up(rd, peer);

	if (rc == -EAGAIN && !peer->asked) {
		peer->asked = 1;
		rd->asked++;
	}
	return rc;
}

void rosm_rd_peer_set_cookie(struct rosm_rd_peer *peer, uint64_t cookie)
{
	peer->cookie = cookie;
}

uint64_t rosm_rd_peer_cookie(const struct rosm_rd_peer *peer)
{
	return peer->cookie;
}

/* ---- endpoint ------------------------------------------------------- */

static void lists_init(struct rosm_rd *rd)
{
	ru_lock_init(&rd->lock);
	ru_list_init(&rd->peers);
	ru_list_init(&rd->free_ops);
	ru_list_init(&rd->pending);
	ru_list_init(&rd->work);
	ru_list_init(&rd->wait_ring);
	ru_list_init(&rd->announce);
	ru_list_init(&rd->ready);
	ru_list_init(&rd->slabs);
	ru_list_init(&rd->brings);
	ru_list_init(&rd->services);
	ru_list_init(&rd->link);
	ru_list_init(&rd->fire.link);
}

static int create_ring(struct rosm_rd *rd, const struct rosm_rd_init *init)
{
	uint32_t slots = init->slots ? init->slots : ROSM_RD_SLOTS;
	uint32_t chunks = ROSM_RD_CHUNKS;
	uint32_t eager = init->eager_bytes;

	if (slots > 1u << 20 || eager > 1u << 20)
		return -EINVAL;
	if (slots < 64)
		slots = 64;	/* a share is an eighth, of at least 8 */
	if (!eager)
		eager = (uint32_t)ru_param_size("ROSM_EAGER_LIMIT");
	if (eager < ROSM_SLOT_RD_INLINE)
		eager = ROSM_SLOT_RD_INLINE;
	/* a line of room keeps chunks from starting at equal page offsets */
	rd->eager_bytes = eager;
	eager = (uint32_t)ru_align_up(eager, RU_CACHELINE) + RU_CACHELINE;
	return rosm_ring_create(&rd->ring, rd->inst, slots, chunks, eager,
				init->channel ? init->channel->bell : 0);
}

/* Publish the descriptor under a QPN of its own. */
static int announce_desc(struct rosm_rd *rd)
{
	struct rosm_wire_qp *d = &rd->inst->qpd[rd->index];
	int rc;

	rc = rosm_dir_new_qpn(rd->inst->dir, rd->inst->who,
			      ROSM_RD_AUX | rd->index, &rd->qpn);
	if (rc)
		return rc;
	atomic_store_explicit(&d->type, ROSM_QPT_RD, memory_order_relaxed);
	atomic_store_explicit(&d->pd, rd->pd_number, memory_order_relaxed);
	atomic_store_explicit(&d->access,
			      ROSM_ACCESS_REMOTE_READ |
				      ROSM_ACCESS_REMOTE_WRITE,
			      memory_order_relaxed);
	atomic_store_explicit(&d->ring_off, rd->ring.off,
			      memory_order_relaxed);
	atomic_store_explicit(&d->state, ROSM_QPS_RTS + 1,
			      memory_order_relaxed);
	atomic_fetch_add_explicit(&d->gen, 1, memory_order_relaxed);
	/* R-rddesc: the descriptor and the ring's head; A-rddesc, find_desc */
	atomic_store_explicit(&d->qpn, rd->qpn, memory_order_release);
	return 0;
}

int rosm_rd_create(struct rosm_pd *pd, struct rosm_rd_init *init,
		   struct rosm_rd **rd_out)
{
	struct rosm_rd *rd = aligned_alloc(RU_CACHELINE,
					   ru_align_up(sizeof(*rd),
						       RU_CACHELINE));
	int rc;

	if (!rd)
		return -ENOMEM;
	memset(rd, 0, sizeof(*rd));
	lists_init(rd);
	rd->inst = pd->ctx->inst;
	rd->pd = pd;
	rd->pd_number = pd->number;
	rd->channel = init->channel;
	rd->cookie = init->cookie;
	rd->awaited_pos = UINT64_MAX;
	rd->bucket_mask = 63;
	rd->buckets = calloc(rd->bucket_mask + 1u, sizeof(*rd->buckets));
	if (!rd->buckets) {
		rc = -ENOMEM;
		goto free_rd;
	}
	rc = create_ring(rd, init);
	if (rc)
		goto free_buckets;
	rc = rosm_rd_op_init(rd);
	if (rc)
		goto free_ring;
	rc = rosm_qpindex_alloc(rd->inst, NULL, &rd->index);
	if (rc)
		goto free_ops;
	rc = announce_desc(rd);
	if (rc)
		goto free_index;

	rd->fire.hdr = rd->ring.hdr;
	rd->fire.cookie = init->cookie;
	if (rd->channel)
		rosm_channel_attach(rd->channel, &rd->fire);
	rosm_pd_hold(pd);
	ru_lock_acquire(&rds_lock);
	/* it has met nobody yet: earlier deaths are none of its business */
	atomic_store_explicit(
		&rd->deaths_seen,
		atomic_load_explicit(&rd->inst->rd_deaths,
				     memory_order_acquire),
		memory_order_relaxed);
	ru_list_add_tail(&rd->inst->rds, &rd->link);
	atomic_fetch_add_explicit(&rd->inst->rd_count, 1,
				  memory_order_relaxed);
	ru_lock_release(&rds_lock);
	init->slots = rd->ring.mask + 1;
	init->eager_bytes = rd->eager_bytes;
	*rd_out = rd;
	return 0;

free_index:
	rosm_qpindex_free(rd->inst, rd->index);
free_ops:
	rosm_rd_op_fini(rd);
free_ring:
	rosm_ring_destroy(&rd->ring);
free_buckets:
	free(rd->buckets);
free_rd:
	free(rd);
	return rc;
}

/* How far the slowest endpoint is; rds_lock is held. */
static void count_buried_locked(struct rosm_inst *inst)
{
	uint32_t deaths = atomic_load_explicit(&inst->rd_deaths,
					       memory_order_relaxed);
	uint32_t behind = 0, n;
	struct ru_list *l;

	ru_list_for_each(l, &inst->rds) {
		struct rosm_rd *rd = ru_list_entry(l, struct rosm_rd, link);

		n = deaths - atomic_load_explicit(&rd->deaths_seen,
						  memory_order_acquire);
		behind = n > behind ? n : behind;
	}
	/* R-rdbury: the last touch of their segments; A-rdbury in peer.c */
	atomic_store_explicit(&inst->rd_buried, deaths - behind,
			      memory_order_release);
}

/* Nobody will read these: tell those who wait for an answer. */
static void refuse_arrivals(struct rosm_rd *rd)
{
	struct rosm_wire_slot *slot;
	uint64_t pos;

	while ((slot = rosm_ring_peek(&rd->ring, &pos))) {
		uint64_t who = rosm_slot_word_who(atomic_load_explicit(
			&slot->word, memory_order_relaxed));
		uint8_t kind = slot->kind, flags = slot->flags;
		uint32_t src_qpn = slot->src_qpn, seq;
		uint64_t ref = slot->rd.xfer;
		struct rosm_wire_xfer *x;
		struct rosm_rd_peer *p;

		rosm_ring_free(&rd->ring, pos);
		if (kind != ROSM_SLOT_RD_RTS && kind != ROSM_SLOT_RD_ASK &&
		    !(flags & ROSM_SLOT_F_ACK))
			continue;
		p = rosm_rd_peer_of(rd, src_qpn, who);
		x = p ? rosm_rd_xfer(p, ref, &seq) : NULL;
		if (x)
			rosm_rd_answer_xfer(rd, p, x, seq, -ECONNABORTED);
	}
}

int rosm_rd_destroy(struct rosm_rd *rd)
{
	struct rosm_wire_qp *d = &rd->inst->qpd[rd->index];
	struct ru_list *l;

	ru_lock_acquire(&rds_lock);
	ru_list_del(&rd->link);
	atomic_fetch_sub_explicit(&rd->inst->rd_count, 1,
				  memory_order_relaxed);
	/* what it does below finds nothing wrong in zero pages */
	count_buried_locked(rd->inst);
	ru_lock_release(&rds_lock);
	if (rd->channel)
		rosm_channel_detach(rd->channel, &rd->fire);

	/* from here on nobody new may write the ring, then nobody does */
	atomic_store_explicit(&d->qpn, 0, memory_order_release);
	atomic_store_explicit(&d->state, 0, memory_order_relaxed);
	rosm_hazard_drain_qp(rd->inst, rd->index);
	rosm_rd_services_free(rd);
	rosm_dir_remove(rd->inst->dir, ROSM_DIR_T_QPN, rd->qpn,
			rd->inst->who);
	refuse_arrivals(rd);
	rosm_rd_cancel_all(rd);
	rosm_rd_op_fini(rd);
	rosm_qpindex_free(rd->inst, rd->index);
	rosm_ring_destroy(&rd->ring);

	while ((l = ru_list_pop_head(&rd->peers))) {
		struct rosm_rd_peer *p =
			ru_list_entry(l, struct rosm_rd_peer, link);

		free(p->select);
		free(p->foreign);
		free(p);
	}
	free(rd->buckets);
	rosm_pd_drop(rd->pd);
	free(rd);
	return 0;
}

uint32_t rosm_rd_eager_max(const struct rosm_rd *rd)
{
	return rd->eager_bytes;
}

uint32_t rosm_rd_inject_max(const struct rosm_rd *rd)
{
	return rd->eager_bytes;
}

int rosm_rd_arm(struct rosm_rd *rd)
{
	if (!rd->channel)
		return -EINVAL;
	ru_lock_acquire(&rd->lock);
	rosm_rd_look_all_locked(rd);
	ru_lock_release(&rd->lock);
	atomic_store_explicit(&rd->ring.hdr->armed, 1, memory_order_relaxed);
	/* R-arm: pairs with A-arm in rosm_ring_notify; the caller polls next */
	ru_membarrier();
	return 0;
}

/* ---- death ---------------------------------------------------------- */

void rosm_rd_peer_dead(struct rosm_inst *inst, struct rosm_peer *peer)
{
	struct ru_list *l;

	ru_lock_acquire(&rds_lock);
	/* R-rddead: peer->dead before the count; A-rddead in rosm_rd_bury */
	peer->rd_death = 1 + atomic_fetch_add_explicit(&inst->rd_deaths, 1,
						       memory_order_release);
	count_buried_locked(inst);
	ru_list_for_each(l, &inst->rds) {
		struct rosm_rd *rd = ru_list_entry(l, struct rosm_rd, link);

		/* also makes up for a bell that the dead one owed */
		if (!rd->channel)
			continue;
		atomic_store_explicit(&rd->ring.hdr->armed, 0,
				      memory_order_relaxed);
		atomic_store_explicit(&rd->ring.hdr->fired, 1,
				      memory_order_release);
		rosm_bell_ring(rd->channel->pipe[1]);
	}
	ru_lock_release(&rds_lock);
}

static void bury_peer(struct rosm_rd *rd, struct rosm_rd_peer *p)
{
	p->buried = 1;
	rosm_rd_peer_down(rd, p, -ECONNABORTED);
	if (atomic_load_explicit(&p->peer->dead, memory_order_acquire))
		rosm_ring_reap(&rd->ring, p->who);
	ru_lock_acquire(&rd->lock);
	rosm_rd_fail_peer_locked(rd, p, -ECONNABORTED);
	ru_lock_release(&rd->lock);
}

/*
 * It is dead, or it takes us for dead. In the latter case it may go on for a
 * moment with what it began: nothing of ours that it knows is used again
 * (rosm_rd_op_fini).
 */
static bool is_over(const struct rosm_rd *rd, const struct rosm_rd_peer *p)
{
	return atomic_load_explicit(&p->peer->dead, memory_order_acquire) ||
	       (rd->lost && !p->peer->local);
}

bool rosm_rd_bury_slow(struct rosm_rd *rd, uint32_t deaths, bool lost)
{
	struct ru_list *l;
	bool any = false;

	rd->lost = lost;
	ru_list_for_each(l, &rd->peers) {
		struct rosm_rd_peer *p =
			ru_list_entry(l, struct rosm_rd_peer, link);

		if (!p->peer || p->buried || !is_over(rd, p))
			continue;
		any = true;
		bury_peer(rd, p);
	}
	ru_lock_acquire(&rds_lock);
	atomic_store_explicit(&rd->deaths_seen, deaths, memory_order_release);
	count_buried_locked(rd->inst);
	ru_lock_release(&rds_lock);
	rosm_peers_vacate(rd->inst);
	return any;
}

/*
 * The ring's head may wait for somebody we never met: a process that died
 * between its first claim and the publish. Looked at rarely.
 */
void rosm_rd_check_claim_slow(struct rosm_rd *rd, uint64_t word)
{
	uint64_t now;

	now = ru_clock_ns();
	if (!rd->next_claim_check_ns || now < rd->next_claim_check_ns) {
		if (!rd->next_claim_check_ns)
			rd->next_claim_check_ns = now + CLAIM_CHECK_NS;
		return;
	}
	rd->next_claim_check_ns = now + CLAIM_CHECK_NS;
	if (!rosm_dir_alive(rd->inst->dir, rosm_slot_word_who(word)))
		rosm_ring_reap(&rd->ring, rosm_slot_word_who(word));
}

/*
 * Another thread than the owner's ended something. The owner arms, then looks
 * (R-arm); here the list comes first, then the look at armed.
 */
static void wake_owner(struct rosm_rd *rd)
{
	uint32_t armed;

	if (!rd->channel)
		return;
	ru_fence();
	armed = atomic_load_explicit(&rd->ring.hdr->armed,
				     memory_order_relaxed);
	if (!armed || !atomic_compare_exchange_strong_explicit(
			      &rd->ring.hdr->armed, &armed, 0,
			      memory_order_acq_rel, memory_order_relaxed))
		return;
	atomic_store_explicit(&rd->ring.hdr->fired, 1, memory_order_release);
	rosm_bell_ring(rd->channel->pipe[1]);
}

/* False: its owner is in a call, which may not look for answers. */
static bool serve_one(struct rosm_rd *rd)
{
	bool ready;

	if (!atomic_load_explicit(&rd->active, memory_order_relaxed))
		return true;
	if (!ru_lock_try(&rd->lock))
		return false;
	rosm_rd_advance_locked(rd);
	ready = !ru_list_empty(&rd->ready);
	ru_lock_release(&rd->lock);
	if (ready)
		wake_owner(rd);
	return true;
}

void rosm_rd_serve(struct rosm_inst *inst)
{
	uint64_t answers;
	struct ru_list *l;
	bool all = true;

	if (!ru_lock_try(&rds_lock))
		return;
	answers = atomic_load_explicit(&inst->rwh->answers,
				       memory_order_acquire);
	ru_list_for_each(l, &inst->rds)
		all &= serve_one(ru_list_entry(l, struct rosm_rd, link));
	if (all)
		atomic_store_explicit(&inst->rd_answers, answers,
				      memory_order_relaxed);
	ru_lock_release(&rds_lock);
}
