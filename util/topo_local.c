/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What topo.h says of this machine: its topology, the quick look at start-up,
 * and the memory policy.  The choices themselves are in topo.c.
 *
 * Why ru_topo_local() does not simply load a topology: every MPI rank and
 * every verbs program would pay for it.  On a 2-core virtual machine with one
 * node, hwloc 2.9 takes 13-15 ms with I/O devices, 4 ms with its defaults and
 * 2.2 ms with nodes and L2/L3 only, and 25 us suffice to read from /sys that
 * there is one node with memory and how large the caches of one CPU are.  On
 * such machines (laptops, most virtual machines) there is no placement to
 * choose, so nothing else is read.  With more nodes the small topology is
 * loaded: there a wrong node costs more than the milliseconds.  `rosm info`
 * and the choice of an HCA load the full one.
 *
 * The policy set is "preferred", not "bind": a full node must give slower
 * queues, not a killed process.  libnuma is not used: three system calls do
 * not need a library.
 */
#include <config.h>

#include "util/topo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <hwloc.h>

/* <linux/mempolicy.h>, which is not always installed */
enum { POLICY_PREFERRED = 1 };
enum { POLICY_F_NODE = 1, POLICY_F_ADDR = 2 };

enum {
	NODES_MAX = 1024,
	BITS_PER_LONG = CHAR_BIT * sizeof(long),
};

static int set_filters(hwloc_topology_t topo, int full)
{
	if (full)
		return hwloc_topology_set_io_types_filter(
			topo, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
#if HWLOC_API_VERSION >= 0x00020100
	/* It would visit every CPU, binding this thread to each in turn. */
	hwloc_topology_set_components(
		topo, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
	if (hwloc_topology_set_all_types_filter(topo,
						HWLOC_TYPE_FILTER_KEEP_NONE) ||
	    hwloc_topology_set_type_filter(topo, HWLOC_OBJ_L2CACHE,
					   HWLOC_TYPE_FILTER_KEEP_ALL))
		return -1;
	return hwloc_topology_set_type_filter(topo, HWLOC_OBJ_L3CACHE,
					      HWLOC_TYPE_FILTER_KEEP_ALL);
}

int ru_topo_load(int full, struct hwloc_topology **topo_out)
{
	hwloc_topology_t topo;

	if (hwloc_topology_init(&topo))
		return -ENOMEM;
	errno = 0;
	if (set_filters(topo, full) || hwloc_topology_load(topo)) {
		int err = errno ? errno : EIO;

		hwloc_topology_destroy(topo);
		return -err;
	}
	*topo_out = topo;
	return 0;
}

void ru_topo_unload(struct hwloc_topology *topo)
{
	hwloc_topology_destroy(topo);
}

/* Reads a file of /sys into @buf as a string.  Returns its length or -errno. */
static ssize_t read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	else
		buf[n] = '\0';
	close(fd);
	return n;
}

/* Members of a list such as "0-3,8,10-11"; 0 if it is not one. */
static unsigned count_list(const char *list, int *lowest_out)
{
	unsigned n = 0;
	long from, to, lowest = LONG_MAX;
	char *end;

	while (*list >= '0' && *list <= '9') {
		from = to = strtol(list, &end, 10);
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (to < from || to - from >= 1 << 20)
			return 0;
		n += (unsigned)(to - from) + 1;
		lowest = from < lowest ? from : lowest;
		list = *end == ',' ? end + 1 : end;
	}
	if (n && lowest_out)
		*lowest_out = (int)lowest;
	return n;
}

/* "512K" and the like in bytes; 0 if it is not a size. */
static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	switch (*end) {
	case 'K':
		return value << 10;
	case 'M':
		return value << 20;
	case 'G':
		return value << 30;
	default:
		return value;
	}
}

static ssize_t read_cache(const char *sysdir, int cpu, int index,
			  const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/cpu/cpu%d/cache/index%d/%s",
		     sysdir, cpu, index, file) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return read_text(path, buf, size);
}

/*
 * The kernel numbers data, instruction, L2, L3 from 0 where the first level
 * is split; the level file is read because some machines deviate.
 */
static void sysfs_caches(const char *sysdir, int cpu,
			 struct ru_topo_caches *caches)
{
	char text[4096];
	int index, level;

	for (index = 1; index < 8; index++) {
		if (read_cache(sysdir, cpu, index, "level", text,
			       sizeof(text)) <= 0)
			break;
		level = atoi(text);
		if (level != 2 && level != 3)
			continue;
		if (read_cache(sysdir, cpu, index, "size", text,
			       sizeof(text)) <= 0)
			continue;
		if (level == 2) {
			caches->l2_bytes = parse_size(text);
			continue;
		}
		caches->l3_bytes = parse_size(text);
		if (read_cache(sysdir, cpu, index, "shared_cpu_list", text,
			       sizeof(text)) > 0)
			caches->l3_cpus = count_list(text, NULL);
	}
}

unsigned ru_topo_sysfs(const char *sysdir, int cpu, int *node_out,
		       struct ru_topo_caches *caches_out)
{
	char path[PATH_MAX], text[4096];
	unsigned nodes = 0;

	*node_out = -1;
	memset(caches_out, 0, sizeof(*caches_out));
	if (snprintf(path, sizeof(path), "%s/node/has_memory", sysdir) <
		    (int)sizeof(path) &&
	    read_text(path, text, sizeof(text)) > 0)
		nodes = count_list(text, node_out);
	if (nodes <= 1)
		sysfs_caches(sysdir, cpu, caches_out);
	return nodes;
}

/* The calling thread's affinity, for any number of CPUs; NULL on error. */
static cpu_set_t *affinity(size_t *size_out)
{
	cpu_set_t *set;
	int n;

	for (n = 1024; n <= 1 << 20; n *= 4) {
		*size_out = CPU_ALLOC_SIZE(n);
		set = CPU_ALLOC(n);
		if (!set)
			return NULL;
		CPU_ZERO_S(*size_out, set);
		if (!sched_getaffinity(0, *size_out, set))
			return set;
		CPU_FREE(set);
		if (errno != EINVAL)
			return NULL;
	}
	return NULL;
}

static int first_cpu(void)
{
	size_t size;
	cpu_set_t *set = affinity(&size);
	int i, cpu = 0;

	for (i = 0; set && i < (int)(size * CHAR_BIT); i++) {
		if (CPU_ISSET_S(i, size, set)) {
			cpu = i;
			break;
		}
	}
	CPU_FREE(set);
	return cpu;
}

static void local_from_topology(hwloc_topology_t topo,
				struct ru_topo_local *local)
{
	hwloc_cpuset_t cpus = hwloc_bitmap_alloc();

	if (!cpus)
		return;
	/* a machine taken from a file has no CPUs that we could be bound to */
	if (hwloc_topology_is_thissystem(topo) &&
	    !hwloc_get_cpubind(topo, cpus, HWLOC_CPUBIND_THREAD)) {
		local->node = ru_topo_node_of_cpus(topo, cpus, &local->why);
		if (local->node < 0)
			local->node = -1;
		ru_topo_caches_of_cpus(topo, cpus, &local->caches);
	}
	hwloc_bitmap_free(cpus);
}

void ru_topo_local(struct ru_topo_local *local_out)
{
	hwloc_topology_t topo;

	memset(local_out, 0, sizeof(*local_out));
	local_out->why = RU_TOPO_ONE_NODE;
	local_out->nodes = ru_topo_sysfs("/sys/devices/system", first_cpu(),
					 &local_out->node, &local_out->caches);
	if (local_out->nodes <= 1) {
		/* no list at all: a kernel without NUMA, or no /sys here */
		local_out->nodes = 1;
		return;
	}
	local_out->node = -1;
	local_out->why = RU_TOPO_UNKNOWN;
	if (ru_topo_load(0, &topo))
		return;
	local_from_topology(topo, local_out);
	ru_topo_unload(topo);
}

int ru_topo_bind(void *addr, size_t len_bytes, int node)
{
	unsigned long mask[NODES_MAX / BITS_PER_LONG] = { 0 };

	if (node < 0 || node >= NODES_MAX)
		return -EINVAL;
	mask[node / BITS_PER_LONG] = 1UL << (node % BITS_PER_LONG);
	/* the kernel counts one bit less than it is told */
	if (syscall(SYS_mbind, addr, len_bytes, POLICY_PREFERRED, mask,
		    (unsigned long)NODES_MAX + 1, 0))
		return -errno;
	return 0;
}

int ru_topo_node_of_page(void *addr)
{
	int node = -1;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0UL, addr,
		    POLICY_F_NODE | POLICY_F_ADDR))
		return -errno;
	return node;
}

int ru_topo_node_of_policy(void *addr)
{
	unsigned long mask[NODES_MAX / BITS_PER_LONG] = { 0 };
	int mode = 0, node;

	if (syscall(SYS_get_mempolicy, &mode, mask,
		    (unsigned long)NODES_MAX + 1, addr, POLICY_F_ADDR))
		return -errno;
	if (mode != POLICY_PREFERRED)
		return -ENOENT;
	for (node = 0; node < NODES_MAX; node++)
		if (mask[node / BITS_PER_LONG] >> (node % BITS_PER_LONG) & 1)
			return node;
	return -ENOENT;
}
