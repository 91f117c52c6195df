/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another instance, mapped: both its segments, its pidfd, what is known of it.
 * The instance itself is a peer too (self), and so is another instance of
 * the same process (local): for these plain copies reach the memory.
 *
 * A peer is attached at first contact and stays until the instance ends, also
 * after its death (its rings may still hold finished messages); unmapping
 * happens when a new generation takes the slot, or at the end.
 */
#ifndef ROSM_PEER_H
#define ROSM_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/inst.h"
#include "engine/wire/segment.h"
#include "util/list.h"
#include "util/shmref.h"

enum rosm_cma_verdict { ROSM_CMA_UNKNOWN = 0, ROSM_CMA_YES, ROSM_CMA_NO };

struct rosm_peer {
	struct ru_list link;		/* inst->peer_list or dead_list */
	struct rosm_inst *inst;		/* ours */
	uint64_t who;
	pid_t pid;			/* as this process sees it, 0 unknown */
	bool self;			/* the instance itself */
	bool local;			/* same address space (includes self) */
	atomic_bool dead;		/* proven */
	bool reaping;			/* a thread has taken that on */
	bool reaped;			/* it is done: may be unmapped */
	bool fenced;			/* both are reached by membarrier */
	int pidfd;			/* -1: self, local or not to be had */
	void *rw;			/* its segments as mapped here */
	void *ro;
	size_t rw_size;
	size_t ro_size;
	struct rosm_wire_rw *rwh;
	struct rosm_wire_ro *roh;
	struct rosm_wire_stat *stat;	/* our counters for it */
	_Atomic int cma_read;		/* enum rosm_cma_verdict, we read it */
	_Atomic int cma_write;
	_Atomic uint32_t cma_mbps;	/* measured, MB/s; 0 not yet */
	_Atomic uint32_t bounce_mbps;
	int bell_fd[ROSM_WIRE_BELLS];	/* its doorbells as opened here, or -1 */
	uint32_t rd_death;		/* which of inst->rd_deaths it was */

	/* peer.c and peerwatch.c */
	struct ru_list all_link;	/* inst->all_peers */
	struct ru_list old_link;	/* inst->old_peers */
	uint64_t bell_ino[ROSM_WIRE_BELLS];	/* of the pipe behind bell_fd */
	uint32_t stat_index;		/* in the ro table, or ROSM_WIRE_PEERS */
	bool no_proc;			/* its /proc/PID/fd is shut to us */
	atomic_bool told_silent;	/* rosm_peer_is_silent() */
};

/*
 * The peer with this identity, attached if it is not yet. May do system
 * calls. -EHOSTUNREACH: no such instance; -ECONNABORTED: it lived and died;
 * -EPROTO: another wire version (one line names both); -EACCES: another
 * user's, or contact is forbidden here; -EAGAIN: it lives, its /proc is shut
 * to us and it was asked by socket, which its next call answers: ask again;
 * -ENOMEM.
 */
int rosm_peer_get(struct rosm_inst *inst, uint64_t who,
		  struct rosm_peer **peer_out);

/*
 * Give back what dead peers cost: those that were reaped, that no RD endpoint
 * has still to bury, and whose slot is another's now. Any thread, any lock
 * above inst->lock.
 */
void rosm_peers_vacate(struct rosm_inst *inst);

/* Only if attached; no system call. */
static inline struct rosm_peer *rosm_peer_find(struct rosm_inst *inst,
					       uint64_t who)
{
	struct rosm_peer *p = atomic_load_explicit(
		&inst->peers[rosm_wire_who_slot(who)], memory_order_acquire);

	return p && p->who == who ? p : NULL;
}

/*
 * Look now: true when its death is proven (then it is on the dead list). An
 * instance that closed in order, or whose process called exec, is dead too.
 */
bool rosm_peer_is_dead(struct rosm_peer *peer);

/* Look at all of them, at most every few ms: cheap to call from a poll. */
void rosm_peers_watch(struct rosm_inst *inst);
void rosm_peers_watch_now(struct rosm_inst *inst);

/*
 * Write one byte into doorbell i of the peer's bell_fd table (the pipe of one
 * of its channels or contexts); opened through /proc at first use. Never
 * blocks, never raises SIGPIPE.
 */
void rosm_peer_ring_bell(struct rosm_peer *peer, uint32_t bell);

/*
 * A READ or WRITE of its memory that needs its calls waits since then (ns,
 * CLOCK_MONOTONIC): after a second a line says so, once a peer.
 */
void rosm_peer_is_silent(struct rosm_peer *peer, uint64_t since_ns);

/* Tell the peer that this instance waits for its calls (attn bits). */
void rosm_peer_attend(struct rosm_peer *peer);

static inline void *rosm_peer_rw(struct rosm_peer *p, uint64_t off,
				 uint64_t len)
{
	return ru_shm_ptr(p->rw, p->rw_size, off, len);
}

static inline void *rosm_peer_ro(struct rosm_peer *p, uint64_t off,
				 uint64_t len)
{
	return ru_shm_ptr(p->ro, p->ro_size, off, len);
}

#endif
