/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What inst.c, peer.c, peerwatch.c, contact.c and hazard.c tell each other.
 */
#ifndef ROSM_PRESENCE_H
#define ROSM_PRESENCE_H

#include "engine/peer.h"

/* ---- peer.c ---------------------------------------------------------- */

/* How the segments of a peer were had. The fds stay the caller's. */
struct rosm_peer_ways {
	uint64_t who;
	int rw_fd;
	int ro_fd;
	const struct ru_shm_id *rw_id;	/* NULL: not known beforehand */
	const struct ru_shm_id *ro_id;
	size_t rw_size;			/* 0: likewise */
	size_t ro_size;
	pid_t pid;
	int pidfd;			/* becomes the peer's on success */
	bool local;
	bool no_proc;
};

/*
 * Map, check, make known. Another thread may have been faster: then that
 * one's peer is the result. -EPROTO: not what it says to be.
 */
int rosm_peer_adopt(struct rosm_inst *inst, const struct rosm_peer_ways *ways,
		    struct rosm_peer **peer_out);

/* The instance itself as a peer; it has no other yet. */
int rosm_peer_make_self(struct rosm_inst *inst);

/* All of them, at the end of the instance. */
void rosm_peers_fini(struct rosm_inst *inst);

/* After a failure that a death explains: whether it is one. */
bool rosm_peer_dies_soon(struct rosm_inst *inst, uint64_t who);

/* Log once that this instance and that one do not understand each other. */
void rosm_peer_refuse(uint32_t pid, uint32_t version);

/* ---- peerwatch.c ----------------------------------------------------- */

void rosm_peer_mark_dead(struct rosm_peer *peer);

/* Look now whether the instance is lost; the first time, says so. */
bool rosm_inst_look_lost(struct rosm_inst *inst);

/* ---- contact.c ------------------------------------------------------- */

/* A failure is no error: this instance is then found through /proc only. */
void rosm_contact_init(struct rosm_inst *inst);
void rosm_contact_fini(struct rosm_inst *inst);

/*
 * Ask the owner of the slot, or see whether it answered: 0; -EAGAIN: not yet;
 * -ECONNABORTED, -EACCES (with one line), -EPROTO, -ENOMEM.
 */
int rosm_contact_ask(struct rosm_inst *inst, uint64_t who,
		     struct rosm_peer **peer_out);

/* Give ours to who may not open our /proc/PID/fd; does not wait. */
void rosm_contact_introduce(struct rosm_inst *inst, uint64_t who);

/* Wake a peer whose doorbells cannot be opened. */
void rosm_contact_wake(struct rosm_peer *peer);

/* Answer who waits at the socket. */
void rosm_contact_answer(struct rosm_inst *inst);

/* Answer if somebody knocked: one load when nobody did. */
static inline void rosm_contact_serve(struct rosm_inst *inst)
{
	uint32_t knock = atomic_load_explicit(
		&inst->dir->insts[inst->slot].knock, memory_order_relaxed);

	if (ru_unlikely(knock != atomic_load_explicit(&inst->knock_seen,
						      memory_order_relaxed)))
		rosm_contact_answer(inst);
}

/* ---- hazard.c, mr.c -------------------------------------------------- */

void rosm_hazards_init(struct rosm_inst *inst);
int rosm_mr_table_init(struct rosm_inst *inst);
void rosm_mr_table_fini(struct rosm_inst *inst);

/* ---- inst.c ---------------------------------------------------------- */

/*
 * The lock under which the current instance of this copy changes; taken by
 * whoever finds it in a thread's destructor.
 */
void rosm_inst_pin(void);
void rosm_inst_unpin(void);

#endif
