/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD, reliable datagrams: private to rd.c, rd_op.c, rd_pool.c, rd_send.c,
 * rd_recv.c and rd_rma.c; the calls are in rosm.h, the hooks for progress and
 * reaping at the end of this header.
 *
 * An endpoint is one arrival ring and one descriptor in the QP table (type
 * ROSM_QPT_RD), where senders find ring_off. Senders claim slots straight in
 * the receiver's ring; there is nothing per pair in shared memory but the
 * blocks (engine/wire/xfer.h) of what is outstanding, and those lie with the
 * asker, so that an answer always has its space.
 *
 * Threads: calls on one endpoint are serialised by the caller, its owner. What
 * another thread's progress may touch - the operations, their lists and a
 * peer's select - is guarded by rd->lock, which is held over at most one share
 * of a copy. Of a peer the other thread reads what was set before the peer's
 * first operation, and state (A-rdup), behind which tx, desc and index lie.
 * Nothing else here is shared. Order: rds lock, then rd->lock.
 */
#ifndef ROSM_RD_H
#define ROSM_RD_H

#include <errno.h>

#include "engine/channel.h"
#include "engine/hazard.h"
#include "engine/move/bounce.h"
#include "engine/move/select.h"
#include "engine/peer.h"
#include "engine/ring.h"
#include "engine/rosm.h"
#include "engine/wire/name.h"
#include "engine/wire/xfer.h"
#include "util/list.h"
#include "util/lock.h"

/* aux of a QPN in the directory: index in the QP table, and what it is */
#define ROSM_RD_AUX		(1ull << 32)

#define ROSM_RD_SLOTS		1024u
#define ROSM_RD_CHUNKS		128u
#define ROSM_RD_OPS_MAX		65536u	/* outstanding, an endpoint */
#define ROSM_RD_RINGS_MAX	4u	/* bounce rings of an endpoint */

/*
 * A block in a slot: sequence << 32 | offset / 64 in the sender's read-write
 * segment. The sequence tells uses of a block apart.
 */
static inline uint64_t rosm_rd_ref(uint64_t off, uint32_t seq)
{
	return (uint64_t)seq << 32 | off >> 6;
}

enum rosm_rd_state {
	ROSM_RD_NEW = 0,	/* no contact yet */
	ROSM_RD_UP,
	ROSM_RD_DOWN,		/* p->err says why; no way back */
};

/*
 * A peer endpoint. Freed with the endpoint only: 256 bytes at most. A small
 * message touches the first two lines and no other.
 */
struct rosm_rd_peer {
	uint64_t who;
	struct rosm_peer *peer;		/* NULL: not mapped */
	const struct rosm_wire_qp *desc;
	uint64_t cookie;
	uint32_t qpn;
	uint32_t index;			/* of desc */
	uint32_t sent;			/* slots published, for the share */
	_Atomic uint8_t state;		/* enum rosm_rd_state; owner writes */
	uint8_t dying;			/* EV_PEER_DEAD is due */
	uint8_t told;			/* and was given */
	uint8_t buried;			/* process dead (or we are taken for
					 * it), operations ended */
	struct rosm_rd_peer *next;	/* same bucket */
	uint32_t refs;			/* of the face */
	int err;			/* of DOWN, or of the last attempt */

	struct rosm_ring_tx tx;		/* a line */

	struct ru_list link;		/* rd->peers */
	struct rosm_inst *inst;
	uint64_t mark[4];		/* last positions of four eighths */
	struct rosm_select *select;	/* once something large came; lock */
	struct rosm_wire_name *foreign;	/* name of another node, or NULL */
	uint64_t retry_ns;		/* no attempt at a contact before */
	uint8_t asked;			/* the owner awaits the contact */
} RU_ALIGNED(RU_CACHELINE);

static_assert(sizeof(struct rosm_rd_peer) <= 256, "state of a peer");
static_assert(offsetof(struct rosm_rd_peer, tx) == RU_CACHELINE, "line 1");

enum rosm_rd_kind {
	ROSM_RD_OP_SEND = 1,	/* ours: answer awaited */
	ROSM_RD_OP_READ,	/* ours: RMA that the target carries out */
	ROSM_RD_OP_WRITE,
	ROSM_RD_OP_ANNOUNCE,	/* ours: RMA data still to be put in a slot */
	ROSM_RD_OP_PULL,	/* theirs: a message that we fetch */
	ROSM_RD_OP_SERVE,	/* theirs: RMA that we carry out */
};

/* What is outstanding. Guarded by rd->lock. */
struct rosm_rd_op {
	struct ru_list link;		/* one of rd's lists */
	uint8_t kind;			/* enum rosm_rd_kind */
	uint8_t mover;			/* enum rosm_mover */
	bool counted;			/* its payload is in the statistics */
	bool bouncing;			/* b.ring is in use */
	bool source;			/* with bouncing: we fill the ring */
	bool has_data;
	int status;			/* 0 or -errno, when ready */
	struct rosm_rd_peer *peer;
	void *context;
	uint64_t len;
	uint64_t data;
	uint64_t start_ns;
	uint64_t heard_ns;		/* last time the other end moved */
	uint64_t remote_addr;		/* SERVE */
	uint32_t rkey;
	uint32_t seq;			/* of our block, never 0 */
	uint32_t their_seq;		/* of xfer when it is theirs */
	uint32_t iov_count;
	struct iovec iov[ROSM_RD_IOV];
	struct iovec their_iov[ROSM_RD_IOV];
	uint32_t their_iov_count;
	struct rosm_wire_xfer *own;	/* our block */
	uint64_t own_off;
	struct rosm_wire_xfer *xfer;	/* the block in use: own or theirs */
	struct rosm_bounce b;
	struct rosm_rd_bring *bring;	/* ours, in use */
};

/* A bounce ring in our read-write segment. */
struct rosm_rd_bring {
	struct ru_list link;		/* rd->brings when free */
	uint64_t off;
};

struct rosm_rd_slab {
	struct ru_list link;
	uint64_t off;			/* of the blocks */
	uint32_t count;
	struct rosm_rd_op op[];
};

struct rosm_rd {
	/* poll; with the ring's, two lines for a small message */
	struct rosm_inst *inst;
	uint32_t qpn;
	_Atomic uint32_t active;	/* operations, and wants */
	struct rosm_rd_peer *last;	/* of the last arrival */
	uint64_t held_pos;		/* slot of the event not yet released */
	bool held;
	bool lost;			/* inst->lost was acted upon */
	bool want_ops;			/* the pool is to grow at a poll */
	bool want_ring;			/* a bounce ring is to be made then */
	_Atomic uint32_t deaths_seen;	/* buried; read under rds_lock */
	struct rosm_ring ring;
	uint64_t awaited_pos;		/* claimed, and waited for once */
	uint64_t next_claim_check_ns;
	uint32_t untold;		/* dying peers without their event */
	uint32_t asked;			/* peers whose contact is awaited */

	uint32_t index;
	struct rosm_pd *pd;
	uint32_t pd_number;
	uint32_t eager_bytes;

	/* peers by QPN and instance */
	struct rosm_rd_peer **buckets;
	uint32_t bucket_mask;
	uint32_t peer_count;
	struct ru_list peers;

	/* operations */
	struct ru_lock lock;
	struct ru_list free_ops;
	struct ru_list pending;		/* asked, not answered, oldest first */
	struct ru_list work;		/* bouncing */
	struct ru_list wait_ring;	/* asked to bounce, no ring free */
	struct ru_list announce;
	struct ru_list ready;		/* events to be polled */
	struct ru_list slabs;
	struct ru_list brings;
	uint64_t answers_seen;
	uint64_t look_all_at;		/* ticks; with unsure */
	bool unsure;			/* pending was not looked through */
	bool moving;			/* counted in inst->rd_moving */
	uint32_t ops;
	uint32_t bring_count;

	struct ru_list link;		/* inst->rds */
	struct rosm_channel *channel;
	struct rosm_fire fire;
	void *cookie;
	struct ru_list services;	/* names it holds, rd_name.c */
};

static_assert(offsetof(struct rosm_rd, ring) + sizeof(struct rosm_ring) <=
		      2 * RU_CACHELINE, "two lines");

/* ---- rd.c ---- */

/* The peer that sent a slot; met for the first time if need be. NULL: ENOMEM */
struct rosm_rd_peer *rosm_rd_peer_of(struct rosm_rd *rd, uint32_t qpn,
				     uint64_t who);
/* Map the peer and find its ring; 0 when UP, else why it cannot be. */
int rosm_rd_contact(struct rosm_rd *rd, struct rosm_rd_peer *p);
/* Those that were asked by who only waits for them; from poll. */
void rosm_rd_ask_again(struct rosm_rd *rd);
/* It is no more, or was never: later calls answer err. From the owner's calls. */
void rosm_rd_peer_down(struct rosm_rd *rd, struct rosm_rd_peer *p, int err);
void rosm_rd_check_claim_slow(struct rosm_rd *rd, uint64_t word);

/* Slots at the head that nobody will ever publish. */
static inline void rosm_rd_check_claim(struct rosm_rd *rd)
{
	uint64_t word = atomic_load_explicit(
		&rd->ring.slots[rd->ring.head & rd->ring.mask].word,
		memory_order_acquire);

	if (ru_unlikely(rosm_slot_word_state(word) == ROSM_SLOT_CLAIMED))
		rosm_rd_check_claim_slow(rd, word);
}

bool rosm_rd_bury_slow(struct rosm_rd *rd, uint32_t deaths, bool lost);

/* Act on deaths that were proven since; true if there were. */
static inline bool rosm_rd_bury(struct rosm_rd *rd)
{
	/* A-rddead: pairs with R-rddead in rosm_rd_peer_dead */
	uint32_t deaths = atomic_load_explicit(&rd->inst->rd_deaths,
					       memory_order_acquire);
	bool lost = rosm_inst_is_lost(rd->inst);

	return ru_unlikely(deaths != atomic_load_explicit(
					     &rd->deaths_seen,
					     memory_order_relaxed) ||
			   lost != rd->lost) &&
	       rosm_rd_bury_slow(rd, deaths, lost);
}

/*
 * Name the peer's descriptor in a hazard line and see that it is still the
 * endpoint: its ring may be written until rosm_hazard_clear_qp. -ECONNABORTED.
 */
static inline int rosm_rd_enter(struct rosm_rd *rd, struct rosm_rd_peer *p,
				struct rosm_wire_hazard **h_out)
{
	struct rosm_wire_hazard *h = rosm_hazard_line(rd->inst);

	rosm_hazard_qp(h, p->who, p->index);
	rosm_hazard_barrier(p->peer->fenced);	/* says it of us as well */
	if (ru_likely(atomic_load_explicit(&p->desc->qpn,
					   memory_order_acquire) == p->qpn &&
		      !atomic_load_explicit(&p->peer->dead,
					    memory_order_relaxed))) {
		*h_out = h;
		return 0;
	}
	rosm_hazard_clear_qp(rd->inst, h);
	return -ECONNABORTED;
}

static inline enum rosm_rd_state rosm_rd_state(const struct rosm_rd_peer *p)
{
	return (enum rosm_rd_state)atomic_load_explicit(&p->state,
							memory_order_relaxed);
}

/* 0 when up; the first call makes the contact. */
static inline int rosm_rd_up(struct rosm_rd *rd, struct rosm_rd_peer *p)
{
	return ru_likely(rosm_rd_state(p) == ROSM_RD_UP) ?
		       0 : rosm_rd_contact(rd, p);
}

/* ---- rd_name.c: names bound to the endpoint go with it ---- */

void rosm_rd_services_free(struct rosm_rd *rd);

/* ---- rd_pool.c; all _locked: rd->lock ---- */

/* The pool that an endpoint has from the start. -ENOMEM. */
int rosm_rd_op_init(struct rosm_rd *rd);
/* From poll, without the lock: more of what a call found used up. */
void rosm_rd_grow(struct rosm_rd *rd);
void rosm_rd_want_ring(struct rosm_rd *rd);
/* NULL: none is free; the kinds that peers ask for grow the pool first. */
struct rosm_rd_op *rosm_rd_op_get_locked(struct rosm_rd *rd,
					 enum rosm_rd_kind kind);
void rosm_rd_op_put_locked(struct rosm_rd *rd, struct rosm_rd_op *op);
/* A free one, or NULL; make: a new one, too. */
struct rosm_rd_bring *rosm_rd_bring_get_locked(struct rosm_rd *rd);
struct rosm_rd_bring *rosm_rd_bring_make_locked(struct rosm_rd *rd);
void rosm_rd_op_fini(struct rosm_rd *rd);

/* ---- rd_op.c; all _locked: rd->lock ---- */

/* Over with status: to the ready list. */
void rosm_rd_op_done_locked(struct rosm_rd *rd, struct rosm_rd_op *op,
			    int status);
/* Fill and open our block; nobody knows it before a slot names it. */
void rosm_rd_op_open(struct rosm_rd_op *op);
/* Our end of the bounce through our own ring, given to the other side. */
void rosm_rd_bring_use_locked(struct rosm_rd *rd, struct rosm_rd_op *op,
			      struct rosm_rd_bring *ring);
/*
 * See what was answered, move what bounces: from the endpoint's own poll and
 * from other threads' progress.
 */
void rosm_rd_advance_locked(struct rosm_rd *rd);
/* After a change of work or wait_ring. */
void rosm_rd_note_locked(struct rosm_rd *rd);
/* The next advance looks at everything that is asked. */
void rosm_rd_look_all_locked(struct rosm_rd *rd);
void rosm_rd_fail_peer_locked(struct rosm_rd *rd, struct rosm_rd_peer *p,
			      int status);
/* Destroy: take back what we asked; what peers may still use is leaked. */
void rosm_rd_cancel_all(struct rosm_rd *rd);

/*
 * Answer a block of a peer: -ECONNABORTED when it was taken back, or is not
 * what seq says. The other side finds it through its answers count.
 */
int rosm_rd_answer_xfer(struct rosm_rd *rd, struct rosm_rd_peer *p,
			struct rosm_wire_xfer *x, uint32_t seq, int status);
/* Whoever asked wants no answer any more, or never asked this. */
bool rosm_rd_taken_back(const struct rosm_wire_xfer *x, uint32_t seq);
/*
 * The block of a token: NULL when it makes no sense, or its process is dead
 * and buried. From the owner's calls.
 */
struct rosm_wire_xfer *rosm_rd_xfer(struct rosm_rd_peer *p, uint64_t ref,
				    uint32_t *seq_out);
/* The peer's iov as it says, checked; false: it makes no sense. */
bool rosm_rd_their_iov(struct rosm_wire_xfer *x, uint64_t len,
		       struct iovec iov[ROSM_RD_IOV], uint32_t *count_out);
/* Tell the other side that something changed in a block it shares with us. */
void rosm_rd_nudge(struct rosm_rd *rd, struct rosm_rd_peer *p);
/* Ring its channel if armed. */
void rosm_rd_wake(struct rosm_rd *rd, struct rosm_rd_peer *p);

uint32_t rosm_rd_status_to_wire(int status);
int rosm_rd_status_from_wire(uint32_t status);

/* ---- rd_send.c ---- */

/* 0 or -EAGAIN: put RMA data into a slot of the peer. */
int rosm_rd_announce(struct rosm_rd *rd, struct rosm_rd_peer *p, uint64_t len,
		     uint64_t data);
void rosm_rd_announce_again(struct rosm_rd *rd);
/* The slot for an asked operation whose block is open. */
int rosm_rd_publish_ref(struct rosm_rd *rd, struct rosm_rd_peer *p,
			uint8_t kind, uint8_t flags,
			const struct rosm_rd_msg *msg, uint64_t len,
			uint64_t ref);

/* ---- rd_rma.c ---- */

/* A RD_ASK arrived. */
void rosm_rd_serve_ask(struct rosm_rd *rd, struct rosm_rd_peer *p,
		       uint64_t ref, bool has_data, uint64_t data);
/* One turn of an operation that we carry out for a peer; done: status set. */
bool rosm_rd_serve_turn_locked(struct rosm_rd *rd, struct rosm_rd_op *op);

/* Part of an iov; n is how many entries out has. */
uint32_t rosm_rd_iov_slice(const struct iovec *iov, uint32_t count,
			   uint64_t off, uint64_t len,
			   struct iovec out[ROSM_RD_IOV]);

/* ---- hooks: progress.c, reaper ---- */

/*
 * Once per dead peer; leaves word, any thread, takes the rds lock. The peer's
 * segments stay until inst->rd_buried has reached peer->rd_death: then each
 * endpoint that was there has ended what it had to do with it.
 */
void rosm_rd_peer_dead(struct rosm_inst *inst, struct rosm_peer *peer);
/*
 * Move what peers wait for, of every endpoint, when rosm_rd_wants_service()
 * says so (inst.h). Any thread; serve_lock may be held, no other.
 */
void rosm_rd_serve(struct rosm_inst *inst);

#endif
