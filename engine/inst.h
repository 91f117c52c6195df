/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instance: this engine's presence on the node. One per process and
 * engine copy (each face links its own), made at the first rosm_ctx_open,
 * gone with the last close. It owns the directory slot, two segments, their
 * heaps, and the table of peers.
 *
 * What must exist once a process whatever the number of engine copies (the
 * directory's fd with its lock bytes, fork handlers, the membarrier
 * registration) lies in the process block, found through an ELF note
 * (engine/process.c).
 *
 * A fork child has none: the parent's becomes an orphan there, its mappings
 * zero pages, so that destroying stale objects harms nobody.
 *
 * Lock: inst->lock guards peers[], qps[] and the lists; see docs/locking.md.
 */
#ifndef ROSM_INST_H
#define ROSM_INST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/directory.h"
#include "engine/wire/segment.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/proc.h"
#include "util/shm.h"
#include "util/shmalloc.h"

struct rosm_mr_table;
struct rosm_peer;
struct rosm_qp;
struct rosm_rd;

struct rosm_inst {
	uint64_t who;
	uint32_t slot;
	uint32_t gen;
	uint32_t refs;			/* open contexts */
	struct rosm_dir *dir;
	struct ru_shm rw;
	struct ru_shm ro;
	struct rosm_wire_rw *rwh;
	struct rosm_wire_ro *roh;
	struct rosm_wire_qp *qpd;	/* descriptors, ro */
	struct rosm_wire_qpctl *qpc;	/* control blocks, rw */
	struct rosm_wire_mr *mrs;
	struct ru_shmalloc rw_heap;
	struct ru_shmalloc ro_heap;

	struct ru_lock lock;
	struct rosm_peer *self;
	_Atomic(struct rosm_peer *) peers[ROSM_WIRE_INSTANCES];	/* by slot */
	struct ru_list peer_list;	/* attached, living */
	struct ru_list dead_list;	/* proven dead, to be reaped */
	int watch_fd;			/* epoll over the peers' pidfds */
	_Atomic uint64_t next_watch;	/* ticks; peerwatch.c */
	atomic_uint dead_count;		/* peers in dead_list */

	/* data path (qp.c, rd.c, cq.c, channel.c, ctx.c own these) */
	pthread_mutex_t serve_lock;	/* progress.c */
	atomic_uint serve_again;	/* somebody found it taken */
	struct rosm_qp **qps;		/* by index, ROSM_WIRE_QPS */
	struct ru_list qp_busy;		/* QPs whose send queue waits */
	struct ru_lock busy_lock;
	atomic_uint busy_count;
	struct ru_list rds;
	_Atomic uint32_t rd_deaths;	/* that rd.c was told of */
	_Atomic uint32_t rd_buried;	/* those that no endpoint minds now */
	atomic_uint rd_moving;		/* endpoints with bounce copies */
	atomic_uint rd_count;		/* endpoints */
	_Atomic uint64_t rd_answers;	/* rwh->answers as last seen by all */
	struct ru_list ctxs;
	struct ru_list cqs;
	struct ru_list channels;
	uint64_t naks_seen;
	_Atomic uint32_t idle;		/* polls in a row that found nothing */
	_Atomic uint32_t idle_max;	/* that many before a yield */
	atomic_uint bounce_steps;	/* shares of bounce copies done */

	/* presence (inst.c, peer*.c, contact.c, hazard.c, mr.c own these) */
	bool orphan;			/* of the parent, in a fork child */
	atomic_bool lost;		/* the program closed our descriptors */
	atomic_bool lost_told;		/* and the QPs were failed for it */
	struct ru_proc_id id;
	uint64_t watch_ticks;		/* period of a look at the peers */
	_Atomic uint32_t watches;
	_Atomic uint32_t slot_end;	/* past the highest slot in peers[] */
	struct ru_list all_peers;	/* every one until the end */
	struct ru_list old_peers;	/* dead, their slot has a successor */
	int contact_fd;			/* listening, also in watch_fd; or -1 */
	struct ru_list asks;		/* contact.c: not answered yet */
	uint32_t ask_round;
	_Atomic uint64_t refused;	/* the last who that was refused */
	atomic_uint blind;		/* living peers without a pidfd */
	_Atomic uint32_t knock_seen;
	_Atomic uint64_t hazards_used;	/* bit per line */
	pthread_mutex_t hazard_shared;	/* of the last line */
	uint64_t stat_who[ROSM_WIRE_PEERS];	/* owners of the ro entries */
	struct rosm_wire_stat stat_rest;	/* where the table is full */
	_Atomic uint32_t next_pd;
	struct rosm_mr_table *mr_table;	/* mr.c */
};

/* The instance of this process; NULL before the first open and in a child. */
struct rosm_inst *rosm_inst_current(void);
int rosm_inst_get(struct rosm_inst **inst_out);
void rosm_inst_put(struct rosm_inst *inst);

/*
 * The program closed the descriptor that holds our lock byte: others take this
 * process for dead (docs/death.md). What reaches beyond this process fails.
 */
static inline bool rosm_inst_is_lost(const struct rosm_inst *inst)
{
	return atomic_load_explicit(&inst->lost, memory_order_acquire);
}

/*
 * Whether rosm_rd_serve() has something to do: an endpoint moves data with a
 * peer, or a peer answered something. Two lines, in cache unless so.
 */
static inline bool rosm_rd_wants_service(const struct rosm_inst *inst)
{
	return atomic_load_explicit(&inst->rd_moving, memory_order_relaxed) ||
	       atomic_load_explicit(&inst->rwh->answers,
				    memory_order_relaxed) !=
		       atomic_load_explicit(&inst->rd_answers,
					    memory_order_relaxed);
}

/*
 * Commit table entries: QP descriptor + control block i, MR entry i. Pages
 * once committed stay. -ENOMEM.
 */
int rosm_inst_commit_qp(struct rosm_inst *inst, uint32_t index);
int rosm_inst_commit_mr(struct rosm_inst *inst, uint32_t index);

#endif
