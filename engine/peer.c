/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers: found in the directory, mapped, kept. A struct rosm_peer is freed
 * only with its instance, so that a pointer to it never dangles; what a dead
 * peer's segments cost is given back once it is reaped and its slot has a
 * successor: zero pages ("invalid" everywhere) take the place of its memory.
 *
 * Two threads may attach the same peer at once; the second finds the first
 * one's when it makes its own known (inst->lock), and drops its own. Nothing
 * blocks under that lock.
 */
#include <config.h>

#include "engine/peer.h"

#include "engine/presence.h"
#include "engine/process.h"
#include "util/clock.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/membarrier.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DYING_MS	100
#define SILENT_NS	1000000000ull	/* of a peer that has to serve us */

/* ---- making one ------------------------------------------------------ */

static struct rosm_peer *peer_alloc(struct rosm_inst *inst, uint64_t who)
{
	struct rosm_peer *p = RU_FAIL_POINT("peer.alloc") ?
				      NULL : calloc(1, sizeof(*p));
	unsigned int i;

	if (!p)
		return NULL;
	p->inst = inst;
	p->who = who;
	p->pidfd = -1;
	p->stat_index = ROSM_WIRE_PEERS;
	p->stat = &inst->stat_rest;
	ru_list_init(&p->link);
	ru_list_init(&p->all_link);
	ru_list_init(&p->old_link);
	for (i = 0; i < ROSM_WIRE_BELLS; i++)
		p->bell_fd[i] = -1;
	return p;
}

static void peer_free(struct rosm_peer *p)
{
	unsigned int i;

	if (!p->self) {
		if (p->rw)
			munmap(p->rw, p->rw_size);
		if (p->ro)
			munmap(p->ro, p->ro_size);
	}
	for (i = 0; i < ROSM_WIRE_BELLS; i++)
		rosm_process_fd_close(p->bell_fd[i]);
	rosm_process_fd_close(p->pidfd);
	free(p);
}

/* Maps both; what a peer put into its heads is looked at once, here. */
static int peer_map(struct rosm_peer *p, const struct rosm_peer_ways *w)
{
	struct ru_shm rw, ro;
	uint32_t version;
	int rc;

	rc = ru_shm_attach(&rw, w->rw_fd, w->rw_id, w->rw_size, 0);
	if (rc)
		return rc;
	p->rw = rw.base;
	p->rw_size = rw.size;
	rc = ru_shm_attach(&ro, w->ro_fd, w->ro_id, w->ro_size,
			   RU_SHM_PEERS_READ);
	if (rc)
		return rc;
	p->ro = ro.base;
	p->ro_size = ro.size;
	if (p->rw_size < ROSM_RW_HEAP_OFF || p->ro_size < ROSM_RO_HEAP_OFF)
		return -EPROTO;
	p->rwh = p->rw;
	p->roh = p->ro;
	version = atomic_load_explicit(&p->roh->version, memory_order_relaxed);
	if (atomic_load_explicit(&p->roh->magic, memory_order_acquire) !=
		    ROSM_WIRE_MAGIC_RO ||
	    atomic_load_explicit(&p->rwh->magic, memory_order_acquire) !=
		    ROSM_WIRE_MAGIC_RW)
		return -EPROTO;
	if (version != ROSM_WIRE_VERSION) {
		rosm_peer_refuse((uint32_t)w->pid, version);
		return -EPROTO;
	}
	if (atomic_load_explicit(&p->roh->who, memory_order_relaxed) !=
		    p->who ||
	    atomic_load_explicit(&p->rwh->who, memory_order_relaxed) != p->who)
		return -EPROTO;
	return 0;
}

static void peer_say_mapped(struct rosm_peer *p)
{
	uint32_t slot = p->inst->slot;

	atomic_fetch_or_explicit(&p->rwh->mapped[slot / 64],
				 1ull << (slot % 64), memory_order_seq_cst);
}

/* ---- statistics ------------------------------------------------------ */

/* An entry of the read-only table; what does not fit shares stat_rest. */
static void peer_stat_get(struct rosm_peer *p)
{
	struct rosm_inst *inst = p->inst;
	uint32_t i, at = rosm_wire_who_slot(p->who);
	struct rosm_wire_stat *st;
	size_t off;

	ru_lock_acquire(&inst->lock);
	for (i = 0; i < ROSM_WIRE_PEERS; i++, at++) {
		at %= ROSM_WIRE_PEERS;
		if (inst->stat_who[at])
			continue;
		inst->stat_who[at] = p->who;
		p->stat_index = at;
		break;
	}
	ru_lock_release(&inst->lock);
	if (p->stat_index == ROSM_WIRE_PEERS)
		return;
	off = ROSM_RO_STAT_OFF + p->stat_index * sizeof(*st);
	if (ru_shm_commit(&inst->ro, off, sizeof(*st)))
		return;
	st = (struct rosm_wire_stat *)((char *)inst->ro.base + off);
	atomic_store_explicit(&st->pid, (uint64_t)p->pid,
			      memory_order_relaxed);
	atomic_store_explicit(&st->who, p->who, memory_order_release);
	p->stat = st;
}

static void stat_move(_Atomic uint64_t *to, _Atomic uint64_t *from)
{
	unsigned int m;

	for (m = 0; m < ROSM_MOVERS; m++)
		atomic_fetch_add_explicit(
			&to[m], atomic_exchange_explicit(&from[m], 0,
							 memory_order_relaxed),
			memory_order_relaxed);
}

/* The peer is over; its sums stay in stat_rest, its entry is free. */
static void peer_stat_put(struct rosm_peer *p)
{
	struct rosm_wire_stat *st = p->stat, *rest = &p->inst->stat_rest;
	uint32_t at = p->stat_index;

	p->stat = rest;
	p->stat_index = ROSM_WIRE_PEERS;
	if (st != rest) {
		atomic_store_explicit(&st->who, 0, memory_order_release);
		stat_move(rest->tx_bytes, st->tx_bytes);
		stat_move(rest->tx_ops, st->tx_ops);
		stat_move(rest->rx_bytes, st->rx_bytes);
		stat_move(rest->rx_ops, st->rx_ops);
	}
	if (at == ROSM_WIRE_PEERS)
		return;
	ru_lock_acquire(&p->inst->lock);
	p->inst->stat_who[at] = 0;
	ru_lock_release(&p->inst->lock);
}

/* ---- making it known ------------------------------------------------- */

static bool map_blank(void *base, size_t size)
{
	return mmap(base, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
		    -1, 0) != MAP_FAILED;
}

/* No endpoint looks at its segments any more; inst->lock is held. */
static bool is_buried_locked(const struct rosm_peer *p)
{
	/* A-rdbury: pairs with R-rdbury in rd.c */
	uint32_t buried = atomic_load_explicit(&p->inst->rd_buried,
					       memory_order_acquire);

	return p->reaped && (int32_t)(buried - p->rd_death) >= 0;
}

void rosm_peers_vacate(struct rosm_inst *inst)
{
	struct ru_list done, *l, *next;
	struct rosm_peer *p;

	ru_list_init(&done);
	ru_lock_acquire(&inst->lock);
	ru_list_for_each_safe(l, next, &inst->old_peers) {
		p = ru_list_entry(l, struct rosm_peer, old_link);
		if (!is_buried_locked(p))
			continue;
		ru_list_del(&p->link);	/* the dead list is walked */
		ru_list_del(l);
		ru_list_add_tail(&done, l);
	}
	ru_lock_release(&inst->lock);
	while ((l = ru_list_pop_head(&done))) {
		p = ru_list_entry(l, struct rosm_peer, old_link);
		map_blank(p->rw, p->rw_size);
		map_blank(p->ro, p->ro_size);
		peer_stat_put(p);
	}
}

/* Whether generation a came after b. */
static bool gen_after(uint64_t a, uint64_t b)
{
	uint32_t ahead = (rosm_wire_who_gen(a) - rosm_wire_who_gen(b)) &
			 ROSM_WIRE_GEN_MASK;

	return ahead && ahead < ROSM_WIRE_GEN_MASK / 2;
}

/*
 * The peer that has this identity now: ours, or who was faster. NULL: the
 * slot's successor is known already, so ours is dead.
 */
static struct rosm_peer *peer_insert(struct rosm_peer *p)
{
	struct rosm_inst *inst = p->inst;
	uint32_t slot = rosm_wire_who_slot(p->who);
	struct rosm_peer *old;

again:
	old = atomic_load_explicit(&inst->peers[slot], memory_order_acquire);
	if (old && old->who == p->who)
		return old;
	if (old && gen_after(old->who, p->who))
		return NULL;
	if (old)	/* its slot has another generation: that proves it */
		rosm_peer_mark_dead(old);
	ru_lock_acquire(&inst->lock);
	if (atomic_load_explicit(&inst->peers[slot], memory_order_relaxed) !=
	    old) {
		ru_lock_release(&inst->lock);
		goto again;
	}
	if (old)
		ru_list_add_tail(&inst->old_peers, &old->old_link);
	ru_list_add_tail(&inst->peer_list, &p->link);
	ru_list_add_tail(&inst->all_peers, &p->all_link);
	if (atomic_load_explicit(&inst->slot_end, memory_order_relaxed) <= slot)
		atomic_store_explicit(&inst->slot_end, slot + 1,
				      memory_order_relaxed);
	atomic_store_explicit(&inst->peers[slot], p, memory_order_release);
	ru_lock_release(&inst->lock);
	if (old)
		rosm_peers_vacate(inst);
	return p;
}

static void peer_watch_add(struct rosm_peer *p)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = p };

	if (p->pidfd >= 0)
		epoll_ctl(p->inst->watch_fd, EPOLL_CTL_ADD, p->pidfd, &ev);
}

int rosm_peer_adopt(struct rosm_inst *inst, const struct rosm_peer_ways *ways,
		    struct rosm_peer **peer_out)
{
	struct rosm_peer *p = peer_alloc(inst, ways->who), *known;
	int rc;

	if (!p)
		return -ENOMEM;
	p->pid = ways->pid;
	p->local = ways->local;
	p->no_proc = ways->no_proc;
	rc = peer_map(p, ways);
	if (!rc && !rosm_dir_alive(inst->dir, ways->who))
		rc = -ECONNABORTED;
	if (rc)
		goto free_peer;
	peer_say_mapped(p);
	RU_KILL_POINT("peer.mapped");
	p->fenced = ru_membarrier_available() &&
		    atomic_load_explicit(&p->roh->membarrier,
					 memory_order_relaxed) == 1;
	peer_stat_get(p);
	known = peer_insert(p);
	if (known != p) {
		peer_stat_put(p);
		rc = known ? 0 : -ECONNABORTED;
		if (!rc && ways->pidfd >= 0)
			close(ways->pidfd);
		if (!rc)
			*peer_out = known;
		goto free_peer;
	}
	p->pidfd = ways->pidfd;
	rosm_process_fd_add(p->pidfd);
	peer_watch_add(p);
	if (p->pidfd < 0 && !p->local)
		atomic_fetch_add_explicit(&inst->blind, 1,
					  memory_order_relaxed);
	RU_DBG("peer", "slot %u is pid %d, %zu MiB mapped%s",
	       rosm_wire_who_slot(p->who), (int)p->pid,
	       (p->rw_size + p->ro_size) >> 20, p->local ? ", local" : "");
	*peer_out = p;
	return 0;

free_peer:
	peer_free(p);
	return rc;
}

int rosm_peer_make_self(struct rosm_inst *inst)
{
	struct rosm_peer *p = peer_alloc(inst, inst->who);

	if (!p)
		return -ENOMEM;
	p->self = true;
	p->local = true;
	p->pid = getpid();
	p->rw = inst->rw.base;
	p->ro = inst->ro.base;
	p->rw_size = inst->rw.size;
	p->ro_size = inst->ro.size;
	p->rwh = inst->rwh;
	p->roh = inst->roh;
	p->fenced = ru_membarrier_available();
	peer_stat_get(p);
	peer_insert(p);
	inst->self = p;
	return 0;
}

void rosm_peers_fini(struct rosm_inst *inst)
{
	struct ru_list *l;

	while ((l = ru_list_pop_head(&inst->all_peers)))
		peer_free(ru_list_entry(l, struct rosm_peer, all_link));
}

/* ---- finding one ----------------------------------------------------- */

void rosm_peer_refuse(uint32_t pid, uint32_t version)
{
	static _Atomic uint64_t last;
	uint64_t now = (uint64_t)pid << 32 | version;

	if (atomic_exchange_explicit(&last, now, memory_order_relaxed) != now)
		RU_WARN("peer", "pid %u speaks wire version %u, this process "
			"%u: contact is refused", pid, version,
			ROSM_WIRE_VERSION);
}

/* The entry of a slot, copied and checked to be of one generation. */
struct slot_copy {
	struct ru_proc_id id;
	uint32_t rw_fd;
	uint32_t ro_fd;
	struct ru_shm_id rw_id;
	struct ru_shm_id ro_id;
	size_t rw_size;
	size_t ro_size;
};

/* Acquire, so that gen is looked at again after all of them. */
#define GET(field) atomic_load_explicit(&e->field, memory_order_acquire)

static int slot_read(struct rosm_inst *inst, uint64_t who, struct slot_copy *s)
{
	struct rosm_wire_dir_inst *e = &inst->dir->insts[rosm_wire_who_slot(who)];
	uint32_t want = rosm_wire_who_gen(who), gen, state;

	gen = atomic_load_explicit(&e->gen, memory_order_acquire);
	/* A-slot: pairs with R-slot in publish_slot() of inst.c */
	state = atomic_load_explicit(&e->state, memory_order_acquire);
	if (!want || gen != want)
		return want && gen_after(rosm_wire_who(0, gen), who) ?
			       -ECONNABORTED : -EHOSTUNREACH;
	if (state != 1)
		return state == 2 || !rosm_dir_alive(inst->dir, who) ?
			       -ECONNABORTED : -EHOSTUNREACH;
	if (GET(wire_version) != ROSM_WIRE_VERSION) {
		rosm_peer_refuse(GET(pid), GET(wire_version));
		return -EPROTO;
	}
	*s = (struct slot_copy){
		.id = { .boot_hash = GET(boot_id), .pidns_ino = GET(pid_ns),
			.start_ticks = GET(start_time),
			.pid = (int32_t)GET(pid) },
		.rw_fd = GET(rw_fd), .ro_fd = GET(ro_fd),
		.rw_id = { GET(memfd_dev), GET(rw_ino) },
		.ro_id = { GET(memfd_dev), GET(ro_ino) },
		.rw_size = GET(rw_size), .ro_size = GET(ro_size),
	};
	if (GET(gen) != want)
		return -ECONNABORTED;
	/* Sizes of 0 would mean "any" to ru_shm_attach(). */
	if (!s->rw_fd || !s->ro_fd || !s->rw_size || !s->ro_size)
		return -EPROTO;
	return 0;
}

/* -EACCES: to be asked for by socket. */
static int open_fd_of(pid_t pid, uint32_t fd, int flags)
{
	char path[64];
	int rc;

	if (RU_FAIL_POINT("peer.proc"))
		return -EACCES;
	snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);
	rc = open(path, flags | O_CLOEXEC);
	if (rc >= 0)
		return rc;
	return errno == EPERM || errno == EACCES ? -EACCES : -errno;
}

/*
 * By /proc: the fast way, without a call of the peer. -EACCES where it is shut
 * or shows other processes: /proc may be that of another pid namespace
 * (unshare without a mount of it), and a time namespace shifts start times.
 */
static int attach_by_proc(struct rosm_inst *inst, const struct slot_copy *s,
			  struct rosm_peer_ways *w,
			  struct rosm_peer **peer_out)
{
	int rc;

	if (!ru_proc_same_pidns(&s->id, &inst->id))
		return -EACCES;
	w->pid = s->id.pid;
	w->pidfd = ru_proc_open(&s->id);
	if (w->pidfd == -ESRCH)
		return rosm_dir_alive(inst->dir, w->who) ? -EACCES :
							   -ECONNABORTED;
	if (w->pidfd < 0)	/* no pidfds here: the lock byte will do */
		w->pidfd = -1;
	w->rw_fd = open_fd_of(w->pid, s->rw_fd - 1, O_RDWR);
	w->ro_fd = w->rw_fd < 0 ? -1 :
				  open_fd_of(w->pid, s->ro_fd - 1, O_RDONLY);
	rc = w->rw_fd < 0 ? w->rw_fd : w->ro_fd < 0 ? w->ro_fd :
	     rosm_peer_adopt(inst, w, peer_out);
	if (w->rw_fd >= 0)
		close(w->rw_fd);
	if (w->ro_fd >= 0)
		close(w->ro_fd);
	if (rc && w->pidfd >= 0)
		close(w->pidfd);
	return rc;
}

static int attach(struct rosm_inst *inst, uint64_t who,
		  struct rosm_peer **peer_out)
{
	struct slot_copy s;
	struct rosm_peer_ways w;
	int rc;

	rc = slot_read(inst, who, &s);
	if (rc)
		return rc;
	w = (struct rosm_peer_ways){
		.who = who, .rw_id = &s.rw_id, .ro_id = &s.ro_id,
		.rw_size = s.rw_size, .ro_size = s.ro_size, .pidfd = -1,
	};
	if (rosm_process_holds(who)) {	/* the other face of this process */
		w.local = true;
		w.pid = getpid();
		w.rw_fd = (int)s.rw_fd - 1;
		w.ro_fd = (int)s.ro_fd - 1;
		return rosm_peer_adopt(inst, &w, peer_out);
	}
	rc = attach_by_proc(inst, &s, &w, peer_out);
	if (!rc && !ru_proc_may_look(w.pid))
		rosm_contact_introduce(inst, who);
	/* no such file, or another one: that was somebody else's /proc */
	if (rc == -EACCES || rc == -ENOENT || rc == -ENXIO || rc == -ESTALE)
		rc = rosm_contact_ask(inst, who, peer_out);
	return rc;
}

/*
 * A process that ends closes its descriptors one by one, the directory's
 * perhaps last: what fails meanwhile is known for a death a little later.
 */
bool rosm_peer_dies_soon(struct rosm_inst *inst, uint64_t who)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int i;

	for (i = 0; i < DYING_MS; i++) {
		if (!rosm_dir_alive(inst->dir, who))
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

int rosm_peer_get(struct rosm_inst *inst, uint64_t who,
		  struct rosm_peer **peer_out)
{
	struct rosm_peer *p = rosm_peer_find(inst, who);
	int rc;

	if (p) {
		if (atomic_load_explicit(&p->dead, memory_order_acquire))
			return -ECONNABORTED;
		*peer_out = p;
		return 0;
	}
	rc = attach(inst, who, peer_out);
	if (!rc || rc == -ENOMEM || rc == -EPROTO || rc == -EACCES ||
	    rc == -EAGAIN || rc == -EHOSTUNREACH || rc == -ECONNABORTED)
		return rc;
	/* Descriptors closed or exchanged: either it just died, or worse. */
	if (rosm_peer_dies_soon(inst, who))
		return -ECONNABORTED;
	RU_WARN_ONCE("peer", "slot %u cannot be mapped (errno %d)",
		     rosm_wire_who_slot(who), -rc);
	return rc == -EMFILE || rc == -ENFILE ? -ENOMEM : -EHOSTUNREACH;
}

void rosm_peer_is_silent(struct rosm_peer *peer, uint64_t since_ns)
{
	if (ru_clock_ns() - since_ns < SILENT_NS ||
	    atomic_exchange_explicit(&peer->told_silent, true,
				     memory_order_relaxed))
		return;
	RU_WARN("peer", "slot %u (pid %d) makes no call of rosm, which READs "
		"and WRITEs of its memory need where they go through shared "
		"memory: they wait (see `rosm info`)",
		rosm_wire_who_slot(peer->who), (int)peer->pid);
}

/* ---- waking it ------------------------------------------------------- */

void rosm_peer_attend(struct rosm_peer *peer)
{
	uint32_t slot = peer->inst->slot;

	/* R-attn: the bit, then its group; the owner clears the group first. */
	atomic_fetch_or_explicit(&peer->rwh->attn[slot / 64],
				 1ull << (slot % 64), memory_order_relaxed);
	atomic_fetch_or_explicit(&peer->rwh->attn_sum, 1ull << (slot / 64),
				 memory_order_release);
}

/* Also asked before each write: programs that close everything close ours. */
static bool is_pipe(int fd, uint64_t ino)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode) && st.st_ino == ino;
}

/* The pipe of that number and no other; -EACCES: shut. */
static int bell_open(struct rosm_peer *p, uint32_t number, uint64_t ino)
{
	int fd;

	fd = p->no_proc ? -EACCES :
	     open_fd_of(p->pid, number, O_RDWR | O_NONBLOCK);
	if (fd < 0 || is_pipe(fd, ino))
		return fd;
	close(fd);
	return -ENOENT;
}

/*
 * Make fd the bell's descriptor. A number once used stays this bell's until
 * the peer is freed, since another thread may be about to write to it: a new
 * pipe takes its place by dup3().
 */
static int bell_keep(struct rosm_peer *p, uint32_t bell, int fd, uint64_t ino)
{
	int kept;

	ru_lock_acquire(&p->inst->lock);
	kept = p->bell_fd[bell];
	if (kept < 0)
		p->bell_fd[bell] = fd;
	p->bell_ino[bell] = ino;
	ru_lock_release(&p->inst->lock);
	if (kept >= 0) {
		if (dup3(fd, kept, O_CLOEXEC) < 0)
			kept = -errno;
		close(fd);
		fd = kept;
	}
	rosm_process_fd_add(fd);
	return fd;
}

/* Its cached descriptor, opened anew when another pipe took its place. */
static int bell_get(struct rosm_peer *p, uint32_t bell)
{
	uint32_t number = atomic_load_explicit(&p->roh->bell_fd[bell],
					       memory_order_acquire);
	uint64_t ino = atomic_load_explicit(&p->roh->bell_ino[bell],
					    memory_order_relaxed);
	int fd;

	if (!number)
		return -ENOENT;
	ru_lock_acquire(&p->inst->lock);
	fd = p->bell_ino[bell] == ino ? p->bell_fd[bell] : -1;
	ru_lock_release(&p->inst->lock);
	if (fd >= 0)
		return fd;
	fd = bell_open(p, number - 1, ino);
	return fd < 0 ? fd : bell_keep(p, bell, fd, ino);
}

void rosm_peer_ring_bell(struct rosm_peer *peer, uint32_t bell)
{
	int fd;
	ssize_t n;

	if (bell >= ROSM_WIRE_BELLS ||
	    atomic_load_explicit(&peer->dead, memory_order_relaxed))
		return;
	fd = bell_get(peer, bell);
	if (fd == -EACCES) {
		rosm_contact_wake(peer);
		return;
	}
	if (fd < 0 || !is_pipe(fd, atomic_load_explicit(
					   &peer->roh->bell_ino[bell],
					   memory_order_relaxed)))
		return;
	do {
		n = write(fd, "", 1);
	} while (n < 0 && errno == EINTR);
	/* EAGAIN: it is full, hence awake */
}
