/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What instances moved: read from outside, by `rosm stat`. No instance is
 * made; the directory is the process's, the counters are read (not mapped:
 * reading a hole of a mapping would allocate it) from the read-only segments
 * through /proc. All numbers are hints: their owners count on meanwhile.
 */
#include <config.h>

#include "engine/directory.h"
#include "engine/rosm.h"
#include "engine/wire/segment.h"
#include "util/fault.h"
#include "util/proc.h"
#include "util/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const rosm_stat_mover_names[ROSM_STAT_MOVERS] = {
	[ROSM_MOVER_INLINE] = "inline",
	[ROSM_MOVER_CHUNK] = "chunk",
	[ROSM_MOVER_BOUNCE] = "bounce",
	[ROSM_MOVER_CMA] = "cma",
	[ROSM_MOVER_SELF] = "self",
};

static_assert(ROSM_STAT_MOVERS == ROSM_MOVERS, "a name each");

#define TABLE_BYTES	(ROSM_WIRE_PEERS * sizeof(struct rosm_wire_stat))

/* The read-only segment of a slot's instance, checked to be that; or -errno. */
static int open_ro(struct rosm_wire_dir_inst *e)
{
	struct ru_shm_id id = {
		atomic_load_explicit(&e->memfd_dev, memory_order_relaxed),
		atomic_load_explicit(&e->ro_ino, memory_order_relaxed),
	};
	char path[64];
	size_t size;
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u",
		 atomic_load_explicit(&e->pid, memory_order_relaxed),
		 atomic_load_explicit(&e->ro_fd, memory_order_relaxed) - 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = ru_shm_check_fd(fd, &id, 0, RU_SHM_PEERS_READ, &size);
	if (!rc && size < ROSM_RO_HEAP_OFF)
		rc = -EPROTO;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static void copy_counts(uint64_t to[ROSM_STAT_MOVERS],
			const _Atomic uint64_t *from)
{
	unsigned int m;

	for (m = 0; m < ROSM_STAT_MOVERS; m++)
		to[m] = atomic_load_explicit(&from[m], memory_order_acquire);
}

static void tell_all(const struct rosm_wire_stat *table, uint32_t pid,
		     void (*each)(void *arg, const struct rosm_stat_peer *sp),
		     void *arg)
{
	struct rosm_stat_peer sp = { .pid = pid };
	const struct rosm_wire_stat *st;
	uint32_t i;

	for (i = 0; i < ROSM_WIRE_PEERS; i++) {
		st = &table[i];
		if (!st->who)
			continue;
		sp.peer_pid = (uint32_t)st->pid;
		copy_counts(sp.tx_bytes, st->tx_bytes);
		copy_counts(sp.tx_ops, st->tx_ops);
		copy_counts(sp.rx_bytes, st->rx_bytes);
		copy_counts(sp.rx_ops, st->rx_ops);
		each(arg, &sp);
	}
}

/* Whether the slot's instance lives and is seen from here by its pid. */
static bool slot_counts(struct rosm_dir *dir, uint32_t slot, uint32_t pid,
			const struct ru_proc_id *me)
{
	struct rosm_wire_dir_inst *e = &dir->insts[slot];
	uint32_t gen = atomic_load_explicit(&e->gen, memory_order_acquire);

	return gen &&
	       atomic_load_explicit(&e->state, memory_order_acquire) == 1 &&
	       atomic_load_explicit(&e->wire_version, memory_order_relaxed) ==
		       ROSM_WIRE_VERSION &&
	       atomic_load_explicit(&e->pid_ns, memory_order_relaxed) ==
		       me->pidns_ino &&
	       (!pid || pid == atomic_load_explicit(&e->pid,
						    memory_order_relaxed)) &&
	       rosm_dir_alive(dir, rosm_wire_who(slot, gen));
}

/* An instance that ends while we look is passed over. */
int rosm_stat_live(uint32_t pid,
		   void (*each)(void *arg, const struct rosm_stat_peer *sp),
		   void *arg)
{
	struct rosm_wire_stat *table;
	struct ru_proc_id me;
	struct rosm_dir *dir;
	uint32_t slot;
	int fd, rc;

	rc = rosm_dir_look(&dir);
	if (rc == -ENOENT)
		return 0;
	if (!rc)
		rc = ru_proc_self(&me);
	if (rc)
		return rc;
	table = RU_FAIL_POINT("stat.table") ? NULL : malloc(TABLE_BYTES);
	if (!table)
		return -ENOMEM;
	for (slot = 0; slot < ROSM_WIRE_INSTANCES; slot++) {
		if (!slot_counts(dir, slot, pid, &me))
			continue;
		fd = open_ro(&dir->insts[slot]);
		if (fd < 0)
			continue;
		if (pread(fd, table, TABLE_BYTES, ROSM_RO_STAT_OFF) ==
		    (ssize_t)TABLE_BYTES)
			tell_all(table,
				 atomic_load_explicit(&dir->insts[slot].pid,
						      memory_order_relaxed),
				 each, arg);
		close(fd);
	}
	free(table);
	return 0;
}

/*
 * False while another process writes the entry. All loads are acquire: who is
 * looked at again after them.
 */
static bool read_ended(struct rosm_wire_dir_ended *e,
		       struct rosm_stat_ended *out)
{
	uint64_t who = atomic_load_explicit(&e->who, memory_order_acquire);

	size_t i;

	out->pid = atomic_load_explicit(&e->pid, memory_order_acquire);
	for (i = 0; i < sizeof(out->comm); i++)
		out->comm[i] = __atomic_load_n(&e->comm[i], __ATOMIC_ACQUIRE);
	out->comm[sizeof(out->comm) - 1] = '\0';
	copy_counts(out->bytes, e->bytes);
	copy_counts(out->ops, e->ops);
	return who &&
	       atomic_load_explicit(&e->who, memory_order_relaxed) == who;
}

int rosm_stat_ended(struct rosm_stat_ended *out, unsigned int n)
{
	unsigned int count = 0;
	struct rosm_dir *dir;
	uint64_t ended, i;
	int rc;

	rc = rosm_dir_look(&dir);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	ended = atomic_load_explicit(&dir->totals->ended,
				     memory_order_acquire);
	for (i = 1; i <= ROSM_DIR_ENDED && i <= ended && count < n; i++)
		if (read_ended(&dir->ended[(ended - i) % ROSM_DIR_ENDED],
			       &out[count]))
			count++;
	return (int)count;
}

int rosm_stat_totals(struct rosm_stat_ended *sum_out, uint64_t *count_out)
{
	struct rosm_dir *dir;
	int rc;

	rc = rosm_dir_look(&dir);
	if (rc && rc != -ENOENT)
		return rc;
	memset(sum_out, 0, sizeof(*sum_out));
	*count_out = 0;
	if (rc)
		return 0;
	copy_counts(sum_out->bytes, dir->totals->bytes);
	copy_counts(sum_out->ops, dir->totals->ops);
	*count_out = atomic_load_explicit(&dir->totals->ended,
					  memory_order_relaxed);
	return 0;
}
