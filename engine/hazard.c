/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hazard lines: which thread has which, and the wait until none names a key.
 * A thread takes a line at its first copy and gives it back when it ends. The
 * last line is shared, under a mutex, by threads that found no other.
 */
#include <config.h>

#include "engine/hazard.h"

#include "engine/peer.h"
#include "engine/presence.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define SHARED_LINE	ROSM_HAZARD_SHARED
#define LOOK_TICKS_NS	1000000u	/* how often a drain asks for lives */
#define MAPPER_LOG_TURNS	1000u	/* about a second */

_Thread_local struct rosm_hazard_mine rosm_hazard_mine;

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static struct rosm_wire_hazard *lines_of(void *ro)
{
	return (struct rosm_wire_hazard *)((char *)ro + ROSM_RO_HAZARD_OFF);
}

static void thread_ends(void *unused)
{
	struct rosm_inst *inst;

	(void)unused;
	rosm_inst_pin();
	inst = rosm_inst_current();
	if (inst && inst->who == rosm_hazard_mine.who)
		atomic_fetch_and_explicit(
			&inst->hazards_used,
			~(1ull << (rosm_hazard_mine.line -
				   lines_of(inst->ro.base))),
			memory_order_release);
	rosm_hazard_mine.who = 0;
	rosm_inst_unpin();
}

static void make_key(void)
{
	pthread_key_create(&thread_key, thread_ends);
}

void rosm_hazards_init(struct rosm_inst *inst)
{
	pthread_once(&thread_once, make_key);
	pthread_mutex_init(&inst->hazard_shared, NULL);
	atomic_store_explicit(&inst->hazards_used, 1ull << SHARED_LINE,
			      memory_order_relaxed);
}

/* Readers look at lines below the count: it grows before the line is used. */
static void count_line(struct rosm_inst *inst, uint32_t line)
{
	uint32_t n = atomic_load_explicit(&inst->roh->hazards,
					  memory_order_relaxed);

	while (n <= line && !atomic_compare_exchange_weak_explicit(
				    &inst->roh->hazards, &n, line + 1,
				    memory_order_seq_cst,
				    memory_order_relaxed))
		;
}

struct rosm_wire_hazard *rosm_hazard_take(struct rosm_inst *inst)
{
	uint64_t used = atomic_load_explicit(&inst->hazards_used,
					     memory_order_relaxed);
	uint32_t line;

	do {
		if (used == UINT64_MAX) {
			pthread_mutex_lock(&inst->hazard_shared);
			count_line(inst, SHARED_LINE);
			return &lines_of(inst->ro.base)[SHARED_LINE];
		}
		line = (uint32_t)__builtin_ctzll(~used);
	} while (!atomic_compare_exchange_weak_explicit(
		&inst->hazards_used, &used, used | 1ull << line,
		memory_order_acquire, memory_order_relaxed));
	count_line(inst, line);
	rosm_hazard_mine.who = inst->who;
	rosm_hazard_mine.line = &lines_of(inst->ro.base)[line];
	pthread_setspecific(thread_key, &rosm_hazard_mine); /* thread_ends() */
	return rosm_hazard_mine.line;
}

/* R-hazclr: what was copied comes before the line is seen empty. */
void rosm_hazard_clear(struct rosm_inst *inst, struct rosm_wire_hazard *h)
{
	atomic_store_explicit(&h->mr, 0, memory_order_release);
	atomic_store_explicit(&h->mr2, 0, memory_order_release);
	atomic_store_explicit(&h->qp, 0, memory_order_release);
	atomic_store_explicit(&h->owner, 0, memory_order_relaxed);
	atomic_store_explicit(&h->owner2, 0, memory_order_relaxed);
	atomic_store_explicit(
		&h->uses,
		atomic_load_explicit(&h->uses, memory_order_relaxed) + 1,
		memory_order_release);
	if (ru_unlikely(rosm_hazard_is_shared(h)))
		pthread_mutex_unlock(&inst->hazard_shared);
}

/* ---- the slow side --------------------------------------------------- */

struct drained {
	uint64_t who;			/* ours */
	uint32_t key;
	bool qp;			/* key is a QP index */
};

static bool names(uint64_t word, uint64_t owner, const struct drained *d)
{
	return (word >> 32) == 1 && owner == d->who &&
	       ((uint32_t)word == d->key ||
		(!d->qp && (uint32_t)word == ROSM_HAZARD_ALL));
}

/* A-hazclr. Wrongly seen: waits a little longer; never wrongly unseen. */
static bool line_names(const struct rosm_wire_hazard *h,
		       const struct drained *d)
{
	uint64_t owner = atomic_load_explicit(&h->owner, memory_order_acquire);

	if (d->qp)
		return names(atomic_load_explicit(&h->qp, memory_order_acquire),
			     owner, d);
	return names(atomic_load_explicit(&h->mr, memory_order_acquire), owner,
		     d) ||
	       names(atomic_load_explicit(&h->mr2, memory_order_acquire),
		     atomic_load_explicit(&h->owner2, memory_order_acquire), d);
}

/* Until the use that is under way is over; later ones saw the new state. */
static void drain_line(struct rosm_peer *p, const struct rosm_wire_hazard *h,
		       const struct drained *d)
{
	uint64_t use = atomic_load_explicit(&h->uses, memory_order_acquire);
	uint64_t look_ns = 0, now;
	unsigned int turn;

	for (turn = 0; line_names(h, d) &&
	     atomic_load_explicit(&h->uses, memory_order_acquire) == use;
	     turn++) {
		if (turn < 1000) {
			ru_pause();
			continue;
		}
		sched_yield();
		now = ru_clock_ns();
		if (now < look_ns)
			continue;
		look_ns = now + LOOK_TICKS_NS;
		if (!p->self && rosm_peer_is_dead(p))
			return;
	}
}

static void drain_peer(struct rosm_peer *p, const struct drained *d)
{
	struct rosm_wire_hazard *h = lines_of(p->ro);
	uint32_t i, n;

	n = atomic_load_explicit(&p->roh->hazards, memory_order_acquire);
	if (n > ROSM_WIRE_HAZARDS)
		n = ROSM_WIRE_HAZARDS;
	for (i = 0; i < n; i++)
		drain_line(p, &h[i], d);
}

/*
 * A dead mapper's bit goes, so that its slot's successor is not taken for one.
 * False: there is one already, which may have set the bit itself, for it
 * stores its generation first. inst->lock keeps other drains from the moment
 * in between.
 */
static bool forget_mapper(struct rosm_inst *inst, uint64_t who)
{
	uint32_t slot = rosm_wire_who_slot(who);
	_Atomic uint64_t *word = &inst->rwh->mapped[slot / 64];
	uint64_t bit = 1ull << (slot % 64);
	bool same;

	ru_lock_acquire(&inst->lock);
	atomic_fetch_and_explicit(word, ~bit, memory_order_seq_cst);
	same = atomic_load_explicit(&inst->dir->insts[slot].gen,
				    memory_order_seq_cst) ==
	       rosm_wire_who_gen(who);
	if (!same)
		atomic_fetch_or_explicit(word, bit, memory_order_seq_cst);
	ru_lock_release(&inst->lock);
	return same;
}

/* Between two attempts to map it; meanwhile it may introduce itself. */
static void mapper_wait(struct rosm_inst *inst, uint32_t slot, int rc,
			unsigned int *turns)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	if (++*turns == MAPPER_LOG_TURNS)
		RU_WARN("hazard", "slot %u has mapped this process, which "
			"cannot map it in turn (errno %d): deregistration waits "
			"for its end or its next call", slot, -rc);
	rosm_contact_serve(inst);
	nanosleep(&ms, NULL);
}

/*
 * Who has mapped us, mapped here; NULL: it is no more. One that lives is not
 * passed over, since it may be copying right now: see docs/death.md for what
 * that can cost. (Another wire version has never mapped us.)
 */
static struct rosm_peer *mapper(struct rosm_inst *inst, uint32_t slot)
{
	struct rosm_wire_dir_inst *e = &inst->dir->insts[slot];
	unsigned int turns = 0;
	struct rosm_peer *p;
	uint64_t who;
	int rc;

	for (;;) {
		who = rosm_wire_who(slot,
				    atomic_load_explicit(&e->gen,
							 memory_order_acquire));
		if (who == inst->who)
			return NULL;
		rc = rosm_peer_get(inst, who, &p);
		if (!rc)
			return p;
		if (rc == -EPROTO)
			return NULL;
		if (rc != -ECONNABORTED && rosm_dir_alive(inst->dir, who))
			mapper_wait(inst, slot, rc, &turns);
		else if (forget_mapper(inst, who))
			return NULL;
	}
}

/*
 * The state that makes further use impossible is stored. After the barrier a
 * line is either seen to name it, or its thread sees that state (A-haz). A
 * peer that maps this instance later sees it as well.
 */
static void drain(struct rosm_inst *inst, const struct drained *d)
{
	struct rosm_peer *p;
	uint64_t bits;
	uint32_t i;

	ru_membarrier();
	drain_peer(inst->self, d);
	rosm_contact_serve(inst);	/* who introduced itself is known then */
	for (i = 0; i < ROSM_WIRE_INSTANCES / 64; i++) {
		if (!atomic_load_explicit(&inst->rwh->mapped[i],
					  memory_order_seq_cst))
			continue;
		ru_lock_acquire(&inst->lock);
		bits = atomic_load_explicit(&inst->rwh->mapped[i],
					    memory_order_seq_cst);
		ru_lock_release(&inst->lock);
		for (; bits; bits &= bits - 1) {
			p = mapper(inst, i * 64 +
					 (uint32_t)__builtin_ctzll(bits));
			if (p)
				drain_peer(p, d);
		}
	}
}

void rosm_hazard_drain_mr(struct rosm_inst *inst, uint32_t key)
{
	drain(inst, &(struct drained){ .who = inst->who, .key = key });
}

void rosm_hazard_drain_qp(struct rosm_inst *inst, uint32_t qp_index)
{
	drain(inst, &(struct drained){ .who = inst->who, .key = qp_index,
				       .qp = true });
}

void rosm_hazard_drain_theirs(struct rosm_peer *peer, uint32_t key)
{
	ru_membarrier();
	drain_peer(peer, &(struct drained){ .who = peer->who, .key = key });
}
