/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Choices drawn from an hwloc topology: pure functions; see topo.h.  What asks
 * the machine itself is in topo_local.c.
 */
#include <config.h>

#include "util/topo.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <hwloc.h>

enum {
	DISTANCE_SAME = 10, /* of the ACPI SLIT */
	DISTANCE_FAR = 255,
};

static const char *const why_text[RU_TOPO_WHY_MAX] = {
	[RU_TOPO_ONE_NODE] = "the machine has one memory node",
	[RU_TOPO_BOUND] = "the process is bound within this node",
	[RU_TOPO_NEAREST] = "nearest node with memory to the process's CPUs",
	[RU_TOPO_SPANS] = "the process may run on several nodes; "
			  "memory follows the first touch",
	[RU_TOPO_UNKNOWN] = "the process's CPUs are not in the topology; "
			    "memory follows the first touch",
};
_Static_assert(sizeof(why_text) / sizeof(why_text[0]) == RU_TOPO_WHY_MAX,
	       "one text per reason");

const char *ru_topo_why_str(enum ru_topo_why why)
{
	return (unsigned)why < RU_TOPO_WHY_MAX ? why_text[why] : "?";
}

static int node_has_memory(hwloc_obj_t node)
{
	return node->attr && node->attr->numanode.local_memory > 0;
}

/* Memory of a special kind (high-bandwidth, persistent) is for who asks. */
static int node_is_plain(hwloc_obj_t node)
{
	return !node->subtype;
}

static hwloc_obj_t next_node(hwloc_topology_t topo, hwloc_obj_t node)
{
	return hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, node);
}

/* Distance from node @from to node @to as the firmware tells it. */
static unsigned node_distance(hwloc_topology_t topo, hwloc_obj_t from,
			      hwloc_obj_t to)
{
	struct hwloc_distances_s *d;
	hwloc_uint64_t there, back;
	unsigned nr = 1, value = DISTANCE_FAR;

	if (from == to)
		return DISTANCE_SAME;
	if (hwloc_distances_get_by_type(topo, HWLOC_OBJ_NUMANODE, &nr, &d,
					HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) ||
	    nr == 0)
		return value;
	if (!hwloc_distances_obj_pair_values(d, from, to, &there, &back))
		value = there < DISTANCE_FAR ? (unsigned)there : DISTANCE_FAR;
	hwloc_distances_release(topo, d);
	return value;
}

/*
 * The smallest node that covers @cpus; among equals one with ordinary memory,
 * then the first in the topology's order.
 */
static hwloc_obj_t covering_node(hwloc_topology_t topo,
				 hwloc_const_cpuset_t cpus)
{
	hwloc_obj_t node, best = NULL;
	int weight, best_weight = INT_MAX;

	for (node = next_node(topo, NULL); node; node = next_node(topo, node)) {
		if (!hwloc_bitmap_isincluded(cpus, node->cpuset))
			continue;
		weight = 4 * hwloc_bitmap_weight(node->cpuset) +
			 2 * !node_has_memory(node) + !node_is_plain(node);
		if (weight < best_weight) {
			best = node;
			best_weight = weight;
		}
	}
	return best;
}

static hwloc_obj_t nearest_with_memory(hwloc_topology_t topo, hwloc_obj_t from)
{
	hwloc_obj_t node, best = NULL;
	unsigned distance, best_distance = UINT_MAX;

	for (node = next_node(topo, NULL); node; node = next_node(topo, node)) {
		if (!node_has_memory(node) || !node_is_plain(node))
			continue;
		distance = node_distance(topo, from, node);
		if (distance < best_distance) {
			best = node;
			best_distance = distance;
		}
	}
	return best;
}

static unsigned count_with_memory(hwloc_topology_t topo, hwloc_obj_t *only_out)
{
	hwloc_obj_t node;
	unsigned n = 0;

	for (node = next_node(topo, NULL); node; node = next_node(topo, node)) {
		if (node_has_memory(node)) {
			*only_out = node;
			n++;
		}
	}
	return n;
}

/*
 * The CPUs of @cpus that the topology knows (an affinity mask may name
 * offline ones).  NULL if there are none or on lack of memory.
 */
static hwloc_cpuset_t known_cpus(hwloc_topology_t topo,
				 hwloc_const_cpuset_t cpus)
{
	hwloc_cpuset_t known = hwloc_bitmap_alloc();

	if (!known)
		return NULL;
	if (hwloc_bitmap_and(known, cpus, hwloc_topology_get_topology_cpuset(
						  topo)) ||
	    hwloc_bitmap_iszero(known)) {
		hwloc_bitmap_free(known);
		return NULL;
	}
	return known;
}

static hwloc_obj_t choose_node(hwloc_topology_t topo, hwloc_const_cpuset_t cpus,
			       enum ru_topo_why *why)
{
	hwloc_cpuset_t known;
	hwloc_obj_t node = NULL;

	if (count_with_memory(topo, &node) == 1) {
		*why = RU_TOPO_ONE_NODE;
		return node;
	}
	known = known_cpus(topo, cpus);
	if (!known) {
		*why = RU_TOPO_UNKNOWN;
		return NULL;
	}
	node = covering_node(topo, known);
	hwloc_bitmap_free(known);
	*why = node ? RU_TOPO_BOUND : RU_TOPO_SPANS;
	if (node && !node_has_memory(node)) {
		node = nearest_with_memory(topo, node);
		*why = node ? RU_TOPO_NEAREST : RU_TOPO_UNKNOWN;
	}
	return node;
}

int ru_topo_node_of_cpus(struct hwloc_topology *topo,
			 const struct hwloc_bitmap_s *cpus,
			 enum ru_topo_why *why_out)
{
	enum ru_topo_why why;
	hwloc_obj_t node = choose_node(topo, cpus, &why);

	if (why_out)
		*why_out = why;
	return node ? (int)node->os_index : -ENOENT;
}

/* The smallest cache of @type that serves some CPU of @cpus, or NULL. */
static hwloc_obj_t smallest_cache(hwloc_topology_t topo, hwloc_obj_type_t type,
				  hwloc_const_cpuset_t cpus)
{
	hwloc_obj_t cache = NULL, best = NULL;

	while ((cache = hwloc_get_next_obj_by_type(topo, type, cache))) {
		if (!hwloc_bitmap_intersects(cache->cpuset, cpus) ||
		    !cache->attr->cache.size)
			continue;
		if (!best || cache->attr->cache.size < best->attr->cache.size)
			best = cache;
	}
	return best;
}

void ru_topo_caches_of_cpus(struct hwloc_topology *topo,
			    const struct hwloc_bitmap_s *cpus,
			    struct ru_topo_caches *caches_out)
{
	hwloc_obj_t l2 = smallest_cache(topo, HWLOC_OBJ_L2CACHE, cpus);
	hwloc_obj_t l3 = smallest_cache(topo, HWLOC_OBJ_L3CACHE, cpus);

	caches_out->l2_bytes = l2 ? l2->attr->cache.size : 0;
	caches_out->l3_bytes = l3 ? l3->attr->cache.size : 0;
	caches_out->l3_cpus = l3 ? (unsigned)hwloc_bitmap_weight(l3->cpuset) : 0;
}

/* Position of @name among @names, or -1; everything is at 0 without names. */
static int rank_of(const char *name, const char *const *names, size_t n_names)
{
	size_t i;

	if (!names)
		return 0;
	for (i = 0; i < n_names; i++)
		if (!strcmp(name, names[i]))
			return (int)i;
	return -1;
}

/*
 * How far @dev is from @cpus, as topo.h has it.  A device that hangs on the
 * root of a machine with several nodes is one whose place is not known.
 */
static unsigned hca_distance(hwloc_topology_t topo, hwloc_obj_t dev,
			     hwloc_const_cpuset_t cpus)
{
	hwloc_obj_t host = hwloc_get_non_io_ancestor_obj(topo, dev);
	hwloc_obj_t from, to;
	unsigned distance, best = DISTANCE_FAR;

	if (!host)
		return 2;
	if (host == hwloc_get_root_obj(topo) &&
	    hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE) > 1)
		return 2;
	if (hwloc_bitmap_isincluded(cpus, host->cpuset))
		return 0;
	if (hwloc_bitmap_intersects(cpus, host->cpuset))
		return 1;
	for (from = next_node(topo, NULL); from; from = next_node(topo, from)) {
		if (!hwloc_bitmap_intersects(from->cpuset, cpus))
			continue;
		for (to = next_node(topo, NULL); to; to = next_node(topo, to)) {
			if (!hwloc_bitmap_intersects(to->cpuset, host->cpuset))
				continue;
			distance = node_distance(topo, from, to);
			best = distance < best ? distance : best;
		}
	}
	return best;
}

int ru_topo_hca_of_cpus(struct hwloc_topology *topo,
			const struct hwloc_bitmap_s *cpus,
			const char *const *names, size_t n_names,
			const char **name_out)
{
	hwloc_cpuset_t known = known_cpus(topo, cpus);
	hwloc_obj_t dev = NULL, best = NULL;
	unsigned distance, best_distance = UINT_MAX;
	int rank, best_rank = INT_MAX;

	while ((dev = hwloc_get_next_osdev(topo, dev))) {
		if (dev->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS)
			continue;
		rank = rank_of(dev->name, names, n_names);
		if (rank < 0)
			continue;
		distance = known ? hca_distance(topo, dev, known) : DISTANCE_FAR;
		if (distance < best_distance ||
		    (distance == best_distance && rank < best_rank)) {
			best = dev;
			best_distance = distance;
			best_rank = rank;
		}
	}
	hwloc_bitmap_free(known);
	if (!best)
		return -ENODEV;
	*name_out = best->name;
	return (int)best_distance;
}
