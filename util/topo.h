/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the shape of the machine tells rosm: the memory node for a process's
 * queues, the cache sizes that the choice of a data mover starts from, and the
 * nearest HCA.
 *
 * The choices are pure functions of an hwloc topology and a cpuset: they read
 * nothing else, so that tests drive them with synthetic and recorded machines.
 * ru_topo_local() is what a process calls at start-up; ru_topo_bind() applies
 * a choice.  Nothing here keeps state; all calls are thread-safe as long as no
 * two threads share one topology that one of them is still loading.
 */
#ifndef ROSM_UTIL_TOPO_H
#define ROSM_UTIL_TOPO_H

#include <stddef.h>
#include <stdint.h>

struct hwloc_topology;
struct hwloc_bitmap_s;

/** Why a node was chosen, or why none was. */
enum ru_topo_why {
	RU_TOPO_ONE_NODE,	/* nothing to choose: one node has memory */
	RU_TOPO_BOUND,		/* the cpuset lies within one node */
	RU_TOPO_NEAREST,	/* it does, without memory: the nearest that has */
	RU_TOPO_SPANS,		/* none: the cpuset spans several nodes */
	RU_TOPO_UNKNOWN,	/* none: the cpuset is not of this machine */
	RU_TOPO_WHY_MAX
};

struct ru_topo_caches {
	uint64_t l2_bytes;	/* smallest L2 within the cpuset; 0: unknown */
	uint64_t l3_bytes;	/* smallest L3 within the cpuset; 0: none */
	unsigned l3_cpus;	/* CPUs that share that L3; 0: unknown */
};

struct ru_topo_local {
	int node;		/* OS index of the node for queues; -1: none */
	enum ru_topo_why why;
	unsigned nodes;		/* nodes of the machine that have memory */
	struct ru_topo_caches caches;
};

/** One line in plain words for @why; never NULL. */
const char *ru_topo_why_str(enum ru_topo_why why);

/**
 * The NUMA node on which a process bound to @cpus should keep its queues.
 * Returns the OS index of the node, or -ENOENT where none is better than
 * another (then leave placement to the first touch).  @why_out may be NULL.
 */
int ru_topo_node_of_cpus(struct hwloc_topology *topo,
			 const struct hwloc_bitmap_s *cpus,
			 enum ru_topo_why *why_out);

/** Cache sizes as seen from @cpus; fields that are not known are 0. */
void ru_topo_caches_of_cpus(struct hwloc_topology *topo,
			    const struct hwloc_bitmap_s *cpus,
			    struct ru_topo_caches *caches_out);

/**
 * The RDMA device of @topo nearest to @cpus.  @names lists the devices that
 * may be chosen, in order of preference among equals; NULL allows every RDMA
 * device in the order of the topology.  On success *@name_out points into
 * @topo.  Returns -ENODEV or the distance: 0 when all of @cpus are local to
 * the device, 1 when some are, 2 when its place is not known, else that of
 * the nearest two nodes as the firmware tells it (10 and more).
 */
int ru_topo_hca_of_cpus(struct hwloc_topology *topo,
			const struct hwloc_bitmap_s *cpus,
			const char *const *names, size_t n_names,
			const char **name_out);

/**
 * Loads the topology of this machine: @full with I/O devices and every level
 * (10-30 ms on a small machine), else nodes and L2/L3 caches only (2-3 ms).
 * Free it with ru_topo_unload().  Returns 0 or -errno.
 */
int ru_topo_load(int full, struct hwloc_topology **topo_out);
void ru_topo_unload(struct hwloc_topology *topo);

/**
 * What a process needs to know at start-up, for the CPUs that the calling
 * thread may run on.  Takes some 30 us where one node has memory (no topology
 * is loaded).  Never fails: what cannot be found out is "none" or 0.
 */
void ru_topo_local(struct ru_topo_local *local_out);

/**
 * The part of ru_topo_local() that reads @sysdir ("/sys/devices/system") and
 * loads no topology: number of nodes with memory (their lowest index in
 * @node_out) and the caches of CPU @cpu.
 */
unsigned ru_topo_sysfs(const char *sysdir, int cpu, int *node_out,
		       struct ru_topo_caches *caches_out);

/**
 * Asks the kernel to take the pages of [@addr, @addr + @len_bytes) from @node,
 * and from elsewhere when that one is full; pages already there are not moved.
 * @addr must be page-aligned.  On a shared mapping the policy goes with the
 * memory object and holds for every process that maps it.  Returns 0 or
 * -errno; -EPERM or -ENOSYS inside many containers, where the first touch by
 * a bound process has the same effect.
 */
int ru_topo_bind(void *addr, size_t len_bytes, int node);

/** Node that holds the page at @addr (faulting it in), or -errno. */
int ru_topo_node_of_page(void *addr);

/** Node that ru_topo_bind() asked for at @addr, -ENOENT if none, or -errno. */
int ru_topo_node_of_policy(void *addr);

#endif
