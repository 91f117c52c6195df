/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deaths of peers: proven by the slot's generation or state, by a pidfd or by
 * a lock byte that is free (docs/death.md). The pidfds are in one epoll
 * descriptor, which a channel may nest into its own to be woken by a death;
 * the contact socket is in it too (data NULL).
 *
 * A lock byte is looked at more seldom where there is a pidfd: it tells of a
 * process that called exec, which keeps its pid.
 */
#include <config.h>

#include "engine/peer.h"

#include "engine/presence.h"
#include "engine/process.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define WATCHES_A_LOCK_LOOK	20

void rosm_peer_mark_dead(struct rosm_peer *peer)
{
	struct rosm_inst *inst = peer->inst;
	bool first = false;

	ru_lock_acquire(&inst->lock);
	if (!atomic_load_explicit(&peer->dead, memory_order_relaxed)) {
		atomic_store_explicit(&peer->dead, true, memory_order_release);
		ru_list_del(&peer->link);
		ru_list_add_tail(&inst->dead_list, &peer->link);
		atomic_fetch_add_explicit(&inst->dead_count, 1,
					  memory_order_release);
		first = true;
	}
	ru_lock_release(&inst->lock);
	if (!first)
		return;
	/* Else it would be readable for ever. */
	if (peer->pidfd >= 0)
		epoll_ctl(inst->watch_fd, EPOLL_CTL_DEL, peer->pidfd, NULL);
	else if (!peer->local)
		atomic_fetch_sub_explicit(&inst->blind, 1,
					  memory_order_relaxed);
	RU_INFO("peer", "slot %u (pid %d) is gone",
		rosm_wire_who_slot(peer->who), (int)peer->pid);
}

/* By what lies in memory: its generation is over, or it ended in order. */
static bool over(struct rosm_peer *p)
{
	struct rosm_wire_dir_inst *e =
		&p->inst->dir->insts[rosm_wire_who_slot(p->who)];

	return atomic_load_explicit(&e->gen, memory_order_acquire) !=
		       rosm_wire_who_gen(p->who) ||
	       atomic_load_explicit(&e->state, memory_order_acquire) == 2;
}

/* The number may be another file's, where the program closed ours. */
static bool pidfd_says_dead(const struct rosm_peer *p)
{
	return p->pidfd >= 0 && ru_pidfd_is_dead(p->pidfd) == 1 &&
	       rosm_process_fd_is_ours(p->pidfd);
}

/* Our descriptors are gone: a new one, of exactly that process. */
static bool proc_says_dead(const struct rosm_peer *p)
{
	struct rosm_wire_dir_inst *e =
		&p->inst->dir->insts[rosm_wire_who_slot(p->who)];
	struct ru_proc_id id = {
		.boot_hash = atomic_load(&e->boot_id),
		.pidns_ino = atomic_load(&e->pid_ns),
		.start_ticks = atomic_load(&e->start_time),
		.pid = (int32_t)atomic_load(&e->pid),
	};
	int fd;

	/* another generation's: over() sees that */
	if (atomic_load(&e->gen) != rosm_wire_who_gen(p->who))
		return true;
	fd = ru_proc_open(&id);
	if (fd >= 0)
		close(fd);
	return fd == -ESRCH;
}

static bool look(struct rosm_peer *p, bool ask_kernel)
{
	bool dead = over(p);

	if (!dead && ask_kernel && !p->local)
		dead = rosm_inst_is_lost(p->inst) ?
			       proc_says_dead(p) :
			       pidfd_says_dead(p) ||
				       !rosm_dir_alive(p->inst->dir, p->who);
	if (dead)
		rosm_peer_mark_dead(p);
	return dead;
}

bool rosm_peer_is_dead(struct rosm_peer *peer)
{
	if (atomic_load_explicit(&peer->dead, memory_order_acquire))
		return true;
	return !peer->self && look(peer, true);
}

/* One of ours: the number may be the program's own epoll by now. */
static struct rosm_peer *peer_of(struct rosm_inst *inst, const void *ptr)
{
	uint32_t i, end = atomic_load_explicit(&inst->slot_end,
					       memory_order_relaxed);
	struct rosm_peer *p;

	for (i = 0; i < end; i++) {
		p = atomic_load_explicit(&inst->peers[i], memory_order_acquire);
		if (p == ptr)
			return p;
	}
	return NULL;
}

static void watch_events(struct rosm_inst *inst)
{
	struct epoll_event ev[16];
	struct rosm_peer *p;
	int i, n;

	do {
		n = epoll_wait(inst->watch_fd, ev, 16, 0);
		for (i = 0; i < n; i++) {
			if (!ev[i].data.ptr) {
				rosm_contact_answer(inst);
				continue;
			}
			p = peer_of(inst, ev[i].data.ptr);
			if (p)
				rosm_peer_is_dead(p);
		}
	} while (n == 16);
}

bool rosm_inst_look_lost(struct rosm_inst *inst)
{
	if (rosm_inst_is_lost(inst))
		return true;
	if (inst->orphan || rosm_dir_is_ours(inst->dir))
		return false;
	if (!atomic_exchange_explicit(&inst->lost, true, memory_order_acq_rel))
		RU_ERR("inst", "the program has closed descriptors that it did "
		       "not open: other processes take this one for dead, and "
		       "what it does with them fails from here on");
	return true;
}

static void watch(struct rosm_inst *inst, bool locks)
{
	uint32_t i, end;
	struct rosm_peer *p;

	if (!rosm_inst_look_lost(inst))
		watch_events(inst);
	end = atomic_load_explicit(&inst->slot_end, memory_order_relaxed);
	for (i = 0; i < end; i++) {
		p = atomic_load_explicit(&inst->peers[i], memory_order_acquire);
		if (p && !p->self &&
		    !atomic_load_explicit(&p->dead, memory_order_relaxed))
			look(p, locks || p->pidfd < 0);
	}
}

void rosm_peers_watch_now(struct rosm_inst *inst)
{
	rosm_contact_serve(inst);
	watch(inst, true);
}

void rosm_peers_watch(struct rosm_inst *inst)
{
	uint64_t now = ru_ticks();
	uint32_t n;

	rosm_contact_serve(inst);
	if ((int64_t)(now - atomic_load_explicit(&inst->next_watch,
						 memory_order_relaxed)) < 0)
		return;
	atomic_store_explicit(&inst->next_watch, now + inst->watch_ticks,
			      memory_order_relaxed);
	n = atomic_fetch_add_explicit(&inst->watches, 1, memory_order_relaxed);
	watch(inst, n % WATCHES_A_LOCK_LOOK == WATCHES_A_LOCK_LOOK - 1);
}
