/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instance: made at the first open, gone with the last close. Order of
 * making: slot (lock byte, generation), segments, heads with their magic
 * last, then the slot's state: from there on others can find it. Stopped
 * anywhere before, the kernel frees the lock byte and the memfds, and the
 * slot is void. Order of going: nothing foreign is mapped any more when the
 * slot says that the instance ended.
 *
 * A static mutex of this copy guards which instance is the current one.
 */
#include <config.h>

#include "engine/inst.h"

#include "engine/peer.h"
#include "engine/presence.h"
#include "engine/process.h"
#include "engine/progress.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/membarrier.h"
#include "util/topo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RO_SIZE		((size_t)256 << 20)
#define RO_MIN		((size_t)32 << 20)
#define RW_MIN		((size_t)16 << 20)
#define WATCH_NS	5000000u	/* how often a poll looks at peers */
#define CLAIM_TRIES	100

static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct rosm_inst *) current;
static bool hooked;

struct rosm_inst *rosm_inst_current(void)
{
	return atomic_load_explicit(&current, memory_order_acquire);
}

void rosm_inst_pin(void)
{
	pthread_mutex_lock(&current_lock);
}

void rosm_inst_unpin(void)
{
	pthread_mutex_unlock(&current_lock);
}

/* ---- fork ------------------------------------------------------------ */

/*
 * In a child: the parent's instance is nobody's here. Its mappings did not
 * come along; its descriptors were closed by the process block.
 */
static void orphan(struct rosm_inst *inst)
{
	struct rosm_peer *p;
	uint32_t i;

	inst->orphan = true;
	inst->rw.fd = -1;
	inst->ro.fd = -1;
	inst->watch_fd = -1;
	inst->contact_fd = -1;
	ru_lock_init(&inst->lock);
	ru_lock_init(&inst->busy_lock);
	ru_lock_init(&inst->rw_heap.lock);
	ru_lock_init(&inst->ro_heap.lock);
	pthread_mutex_init(&inst->hazard_shared, NULL);
	pthread_mutex_init(&inst->serve_lock, NULL);
	for (i = 0; i < ROSM_WIRE_INSTANCES; i++) {
		p = atomic_load_explicit(&inst->peers[i], memory_order_relaxed);
		if (!p)
			continue;
		rosm_process_blank(p->rw, p->rw_size);
		rosm_process_blank(p->ro, p->ro_size);
	}
}

static void fork_child(void)
{
	struct rosm_inst *inst = rosm_inst_current();

	if (inst)
		orphan(inst);
	atomic_store_explicit(&current, NULL, memory_order_release);
	pthread_mutex_init(&current_lock, NULL);
}

static int hook_locked(void)
{
	int rc;

	if (hooked)
		return 0;
	rc = rosm_process_at_fork(rosm_inst_pin, rosm_inst_unpin, fork_child);
	hooked = !rc;
	return rc;
}

/* ---- segments -------------------------------------------------------- */

static int make_segments(struct rosm_inst *inst)
{
	struct ru_topo_local local;
	int rc;

	rc = ru_shm_create(&inst->rw, "rosm-rw",
			   ru_param_size("ROSM_SEGMENT_SIZE"), RW_MIN, 0);
	if (rc)
		return rc;
	rosm_process_fd_add(inst->rw.fd);
	RU_KILL_POINT("inst.rw");
	rc = ru_shm_create(&inst->ro, "rosm-ro", RO_SIZE, RO_MIN,
			   RU_SHM_PEERS_READ);
	if (rc)
		return rc;
	rosm_process_fd_add(inst->ro.fd);
	ru_topo_local(&local);
	if (local.nodes > 1 && local.node >= 0) {
		ru_topo_bind(inst->rw.base, inst->rw.size, local.node);
		ru_topo_bind(inst->ro.base, inst->ro.size, local.node);
	}
	return 0;
}

static int make_heads(struct rosm_inst *inst)
{
	int rc;

	rc = ru_shm_commit(&inst->rw, 0, ROSM_RW_QPCTL_OFF);
	if (!rc)
		rc = ru_shm_commit(&inst->ro, 0, ROSM_RO_STAT_OFF);
	if (rc)
		return rc;
	inst->rwh = inst->rw.base;
	inst->roh = inst->ro.base;
	inst->qpc = (void *)((char *)inst->rw.base + ROSM_RW_QPCTL_OFF);
	inst->qpd = (void *)((char *)inst->ro.base + ROSM_RO_QP_OFF);
	inst->mrs = (void *)((char *)inst->ro.base + ROSM_RO_MR_OFF);
	atomic_store_explicit(&inst->rwh->version, ROSM_WIRE_VERSION,
			      memory_order_relaxed);
	atomic_store_explicit(&inst->rwh->size, inst->rw.size,
			      memory_order_relaxed);
	atomic_store_explicit(&inst->rwh->who, inst->who,
			      memory_order_relaxed);
	atomic_store_explicit(&inst->roh->version, ROSM_WIRE_VERSION,
			      memory_order_relaxed);
	atomic_store_explicit(&inst->roh->membarrier,
			      ru_membarrier_available(), memory_order_relaxed);
	atomic_store_explicit(&inst->roh->size, inst->ro.size,
			      memory_order_relaxed);
	atomic_store_explicit(&inst->roh->who, inst->who,
			      memory_order_relaxed);
	atomic_store_explicit(&inst->roh->pid, (uint32_t)inst->id.pid,
			      memory_order_relaxed);
	atomic_store_explicit(&inst->rwh->magic, ROSM_WIRE_MAGIC_RW,
			      memory_order_release);
	atomic_store_explicit(&inst->roh->magic, ROSM_WIRE_MAGIC_RO,
			      memory_order_release);
	RU_KILL_POINT("inst.heads");
	return 0;
}

static int make_heaps(struct rosm_inst *inst)
{
	int rc;

	rc = ru_shmalloc_init(&inst->rw_heap, &inst->rw, ROSM_RW_HEAP_OFF);
	if (rc)
		return rc;
	rc = ru_shmalloc_init(&inst->ro_heap, &inst->ro, ROSM_RO_HEAP_OFF);
	if (rc)
		ru_shmalloc_fini(&inst->rw_heap);
	return rc;
}

static void drop_segments(struct rosm_inst *inst)
{
	rosm_process_fd_close(inst->rw.fd);
	rosm_process_fd_close(inst->ro.fd);
	inst->rw.fd = -1;
	inst->ro.fd = -1;
	ru_shm_fini(&inst->rw);
	ru_shm_fini(&inst->ro);
}

/*
 * A table's pages; what was used once stays. The count of entries that were
 * ever used tells readers where to stop.
 */
static void count_entry(_Atomic uint32_t *count, uint32_t index)
{
	uint32_t n = atomic_load_explicit(count, memory_order_relaxed);

	while (n <= index && !atomic_compare_exchange_weak_explicit(
				     count, &n, index + 1,
				     memory_order_release,
				     memory_order_relaxed))
		;
}

int rosm_inst_commit_qp(struct rosm_inst *inst, uint32_t index)
{
	int rc;

	if (index >= ROSM_WIRE_QPS)
		return -EINVAL;
	if (RU_FAIL_POINT("inst.commit.qp"))
		return -ENOMEM;
	rc = ru_shm_commit(&inst->ro, ROSM_RO_QP_OFF +
			   index * sizeof(struct rosm_wire_qp),
			   sizeof(struct rosm_wire_qp));
	if (!rc)
		rc = ru_shm_commit(&inst->rw, ROSM_RW_QPCTL_OFF +
				   index * sizeof(struct rosm_wire_qpctl),
				   sizeof(struct rosm_wire_qpctl));
	if (rc)
		return -ENOMEM;
	RU_KILL_POINT("inst.commit.qp");
	count_entry(&inst->roh->qps, index);
	return 0;
}

int rosm_inst_commit_mr(struct rosm_inst *inst, uint32_t index)
{
	if (index >= ROSM_WIRE_MRS)
		return -EINVAL;
	if (RU_FAIL_POINT("inst.commit.mr") ||
	    ru_shm_commit(&inst->ro, ROSM_RO_MR_OFF +
			  index * sizeof(struct rosm_wire_mr),
			  sizeof(struct rosm_wire_mr)))
		return -ENOMEM;
	RU_KILL_POINT("inst.commit.mr");
	count_entry(&inst->roh->mrs, index);
	return 0;
}

/* ---- slot ------------------------------------------------------------ */

static int claim_slot(struct rosm_inst *inst)
{
	int i, rc = -EAGAIN;

	for (i = 0; i < CLAIM_TRIES && rc == -EAGAIN; i++) {
		rc = rosm_dir_get(&inst->dir);
		if (!rc)
			rc = rosm_dir_claim(inst->dir, &inst->slot,
					    &inst->gen);
	}
	if (!rc)
		inst->who = rosm_wire_who(inst->slot, inst->gen);
	return rc;
}

#define SET(field, value) \
	atomic_store_explicit(&e->field, value, memory_order_relaxed)

/* R-slot: all of it, then the state. */
static void publish_slot(struct rosm_inst *inst)
{
	struct rosm_wire_dir_inst *e = &inst->dir->insts[inst->slot];

	SET(wire_version, ROSM_WIRE_VERSION);
	SET(pid, (uint32_t)inst->id.pid);
	SET(pid_ns, inst->id.pidns_ino);
	SET(start_time, inst->id.start_ticks);
	SET(boot_id, inst->id.boot_hash);
	SET(rw_fd, (uint32_t)inst->rw.fd + 1);
	SET(ro_fd, (uint32_t)inst->ro.fd + 1);
	SET(memfd_dev, inst->rw.id.dev);
	SET(rw_ino, inst->rw.id.ino);
	SET(ro_ino, inst->ro.id.ino);
	SET(rw_size, inst->rw.size);
	SET(ro_size, inst->ro.size);
	RU_KILL_POINT("inst.publish");
	atomic_store_explicit(&e->state, 1, memory_order_release);
	RU_KILL_POINT("inst.published");
}

/* ---- making ---------------------------------------------------------- */

static void init_plain(struct rosm_inst *inst)
{
	inst->rw = RU_SHM_NONE;
	inst->ro = RU_SHM_NONE;
	inst->watch_fd = -1;
	inst->contact_fd = -1;
	ru_lock_init(&inst->lock);
	ru_lock_init(&inst->busy_lock);
	pthread_mutex_init(&inst->serve_lock, NULL);
	ru_list_init(&inst->peer_list);
	ru_list_init(&inst->dead_list);
	ru_list_init(&inst->all_peers);
	ru_list_init(&inst->old_peers);
	ru_list_init(&inst->asks);
	ru_list_init(&inst->qp_busy);
	ru_list_init(&inst->rds);
	ru_list_init(&inst->ctxs);
	ru_list_init(&inst->cqs);
	ru_list_init(&inst->channels);
	inst->watch_ticks = ru_ns_to_ticks(WATCH_NS);
	inst->next_watch = ru_ticks() + inst->watch_ticks;
	inst->idle_max = ROSM_IDLE_POLLS_MAX;
}

static int open_watch(struct rosm_inst *inst)
{
	inst->watch_fd = epoll_create1(EPOLL_CLOEXEC);
	if (inst->watch_fd < 0)
		return -errno;
	rosm_process_fd_add(inst->watch_fd);
	return 0;
}

/* Everything but the slot; undone by drop_parts() however far it came. */
static int make_parts(struct rosm_inst *inst)
{
	int rc;

	rc = make_segments(inst);
	if (!rc)
		rc = make_heads(inst);
	if (!rc)
		rc = make_heaps(inst);
	if (rc)
		return rc;
	rosm_hazards_init(inst);
	rc = rosm_mr_table_init(inst);
	if (!rc)
		rc = open_watch(inst);
	if (!rc)
		rc = rosm_peer_make_self(inst);
	if (!rc)
		rosm_contact_init(inst);
	return rc;
}

static void drop_parts(struct rosm_inst *inst)
{
	rosm_contact_fini(inst);
	rosm_peers_fini(inst);
	rosm_process_fd_close(inst->watch_fd);
	rosm_mr_table_fini(inst);
	if (inst->ro_heap.shm) {
		ru_shmalloc_fini(&inst->rw_heap);
		ru_shmalloc_fini(&inst->ro_heap);
	}
	drop_segments(inst);
}

static int inst_make(struct rosm_inst **inst_out)
{
	struct rosm_inst *inst;
	int rc;

	inst = RU_FAIL_POINT("inst.alloc") ? NULL : calloc(1, sizeof(*inst));
	if (!inst)
		return -ENOMEM;
	init_plain(inst);
	inst->qps = RU_FAIL_POINT("inst.qps") ? NULL :
		    calloc(ROSM_WIRE_QPS, sizeof(struct rosm_qp *));
	rc = inst->qps ? ru_proc_self(&inst->id) : -ENOMEM;
	if (rc)
		goto free_inst;
	ru_membarrier_init();
	rc = claim_slot(inst);
	if (rc)
		goto free_inst;
	rc = make_parts(inst);
	if (rc)
		goto drop;
	publish_slot(inst);
	RU_INFO("inst", "slot %u generation %u, segments of %zu and %zu MiB",
		inst->slot, inst->gen, inst->rw.size >> 20,
		inst->ro.size >> 20);
	*inst_out = inst;
	return 0;

drop:
	drop_parts(inst);
	rosm_dir_release(inst->dir, inst->slot, inst->gen);
free_inst:
	free(inst->qps);
	free(inst);
	return rc;
}

/* ---- the end --------------------------------------------------------- */

static void add_sums(struct rosm_inst *inst, uint64_t bytes[ROSM_MOVERS],
		     uint64_t ops[ROSM_MOVERS])
{
	struct rosm_peer *p;
	struct ru_list *l;
	unsigned int m;

	for (m = 0; m < ROSM_MOVERS; m++) {
		bytes[m] = inst->stat_rest.tx_bytes[m];
		ops[m] = inst->stat_rest.tx_ops[m];
	}
	ru_list_for_each(l, &inst->all_peers) {
		p = ru_list_entry(l, struct rosm_peer, all_link);
		if (p->stat == &inst->stat_rest)
			continue;
		for (m = 0; m < ROSM_MOVERS; m++) {
			bytes[m] += p->stat->tx_bytes[m];
			ops[m] += p->stat->tx_ops[m];
		}
	}
}

static void read_comm(char comm[16])
{
	int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	memset(comm, 0, 16);
	if (fd >= 0) {
		n = read(fd, comm, 15);
		close(fd);
	}
	if (n > 0 && comm[n - 1] == '\n')
		comm[n - 1] = '\0';
}

/* What it moved, for `rosm stat`; stopped in between: who stays 0. */
static void leave_sums(struct rosm_inst *inst)
{
	struct rosm_wire_dir_totals *t = inst->dir->totals;
	uint64_t bytes[ROSM_MOVERS], ops[ROSM_MOVERS], n;
	struct rosm_wire_dir_ended *e;
	unsigned int m;

	add_sums(inst, bytes, ops);
	n = atomic_fetch_add_explicit(&t->ended, 1, memory_order_relaxed);
	e = &inst->dir->ended[n % ROSM_DIR_ENDED];
	atomic_store_explicit(&e->who, 0, memory_order_release);
	RU_KILL_POINT("inst.ended");
	atomic_store_explicit(&e->pid, (uint32_t)inst->id.pid,
			      memory_order_relaxed);
	read_comm(e->comm);
	for (m = 0; m < ROSM_MOVERS; m++) {
		atomic_fetch_add_explicit(&t->bytes[m], bytes[m],
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&t->ops[m], ops[m],
					  memory_order_relaxed);
		atomic_store_explicit(&e->bytes[m], bytes[m],
				      memory_order_relaxed);
		atomic_store_explicit(&e->ops[m], ops[m],
				      memory_order_relaxed);
	}
	atomic_store_explicit(&e->who, inst->who, memory_order_release);
}

static void inst_end(struct rosm_inst *inst)
{
	leave_sums(inst);
	drop_parts(inst);
	rosm_dir_release(inst->dir, inst->slot, inst->gen);
	free(inst->qps);
	free(inst);
}

int rosm_inst_get(struct rosm_inst **inst_out)
{
	struct rosm_inst *inst;
	int rc;

	rosm_inst_pin();
	inst = rosm_inst_current();
	rc = inst ? 0 : rosm_process_get() ? hook_locked() : -EPROTO;
	if (!rc && !inst) {
		rc = inst_make(&inst);
		if (!rc)
			atomic_store_explicit(&current, inst,
					      memory_order_release);
	}
	if (!rc) {
		inst->refs++;
		*inst_out = inst;
	}
	rosm_inst_unpin();
	return rc;
}

/* An orphan's memory is not freed: the child may hold more pointers to it. */
void rosm_inst_put(struct rosm_inst *inst)
{
	rosm_inst_pin();
	if (!inst->orphan && !--inst->refs) {
		atomic_store_explicit(&current, NULL, memory_order_release);
		inst_end(inst);
	}
	rosm_inst_unpin();
}
