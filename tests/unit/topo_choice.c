/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The choices of util/topo.h on machines that are not this one: synthetic ones
 * and the XML files in tests/unit/topo.
 */
#include <config.h>

#include "util/topo.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hwloc.h>

static hwloc_topology_t new_machine(void)
{
	hwloc_topology_t topo;

	assert_int_equal(hwloc_topology_init(&topo), 0);
	assert_int_equal(hwloc_topology_set_io_types_filter(
				 topo, HWLOC_TYPE_FILTER_KEEP_ALL),
			 0);
	return topo;
}

static hwloc_topology_t synthetic(const char *description)
{
	hwloc_topology_t topo = new_machine();

	assert_int_equal(hwloc_topology_set_synthetic(topo, description), 0);
	assert_int_equal(hwloc_topology_load(topo), 0);
	return topo;
}

static hwloc_topology_t recorded(const char *file)
{
	hwloc_topology_t topo = new_machine();
	const char *top = getenv("top_srcdir");
	char path[4096];

	snprintf(path, sizeof(path), "%s/tests/unit/topo/%s", top ? top : ".",
		 file);
	assert_int_equal(hwloc_topology_set_xml(topo, path), 0);
	assert_int_equal(hwloc_topology_load(topo), 0);
	return topo;
}

static hwloc_cpuset_t cpus_of(const char *list)
{
	hwloc_cpuset_t cpus = hwloc_bitmap_alloc();

	assert_non_null(cpus);
	assert_int_equal(hwloc_bitmap_list_sscanf(cpus, list), 0);
	return cpus;
}

static int node_of(hwloc_topology_t topo, const char *list,
		   enum ru_topo_why *why)
{
	hwloc_cpuset_t cpus = cpus_of(list);
	int node = ru_topo_node_of_cpus(topo, cpus, why);

	hwloc_bitmap_free(cpus);
	return node;
}

#define assert_node(topo, list, node, reason)                                  \
	do {                                                                   \
		enum ru_topo_why why_ = RU_TOPO_WHY_MAX;                       \
		assert_int_equal(node_of(topo, list, &why_), node);            \
		assert_int_equal(why_, reason);                                \
	} while (0)

static void one_node_is_chosen_for_any_cpuset(void **state)
{
	hwloc_topology_t topo = synthetic("numa:1(memory=8GB) core:4 pu:2");

	(void)state;
	assert_node(topo, "0-7", 0, RU_TOPO_ONE_NODE);
	assert_node(topo, "3", 0, RU_TOPO_ONE_NODE);
	/* CPUs that hwloc does not know change nothing */
	assert_node(topo, "900", 0, RU_TOPO_ONE_NODE);
	assert_int_equal(node_of(topo, "1", NULL), 0);
	hwloc_topology_destroy(topo);
}

static void two_nodes_follow_the_binding(void **state)
{
	hwloc_topology_t topo = synthetic("numa:2(memory=8GB) core:4 pu:1");

	(void)state;
	assert_node(topo, "0", 0, RU_TOPO_BOUND);
	assert_node(topo, "0-3", 0, RU_TOPO_BOUND);
	assert_node(topo, "4-7", 1, RU_TOPO_BOUND);
	assert_node(topo, "7", 1, RU_TOPO_BOUND);
	assert_node(topo, "0-7", -ENOENT, RU_TOPO_SPANS);
	assert_node(topo, "3-4", -ENOENT, RU_TOPO_SPANS);
	assert_node(topo, "8-15", -ENOENT, RU_TOPO_UNKNOWN);
	hwloc_topology_destroy(topo);
}

static void eight_nodes_with_scattered_indexes(void **state)
{
	/* OS indexes differ from the logical order: nodes come out by OS */
	hwloc_topology_t topo = synthetic(
		"pack:2 numa:4(memory=4GB indexes=0,2,4,6,1,3,5,7) core:2 pu:1");

	(void)state;
	assert_node(topo, "0-1", 0, RU_TOPO_BOUND);
	assert_node(topo, "2", 2, RU_TOPO_BOUND);
	assert_node(topo, "6-7", 6, RU_TOPO_BOUND);
	assert_node(topo, "8-9", 1, RU_TOPO_BOUND);
	assert_node(topo, "15", 7, RU_TOPO_BOUND);
	assert_node(topo, "0-7", -ENOENT, RU_TOPO_SPANS);
	hwloc_topology_destroy(topo);
}

static void offline_cpus_do_not_widen_the_binding(void **state)
{
	hwloc_topology_t topo = recorded("two-hca.xml");

	(void)state;
	/* CPU 3 is offline and still in the affinity mask */
	assert_node(topo, "2-3", 0, RU_TOPO_BOUND);
	assert_node(topo, "0-3", 0, RU_TOPO_BOUND);
	assert_node(topo, "3-7", 1, RU_TOPO_BOUND);
	assert_node(topo, "3", -ENOENT, RU_TOPO_UNKNOWN);
	hwloc_topology_destroy(topo);
}

static void restricted_machine_has_only_its_own_nodes(void **state)
{
	hwloc_topology_t topo = synthetic("numa:4(memory=8GB) core:2 pu:1");
	hwloc_cpuset_t kept = cpus_of("2-5");

	(void)state;
	assert_int_equal(hwloc_topology_restrict(
				 topo, kept, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS),
			 0);
	assert_node(topo, "2-3", 1, RU_TOPO_BOUND);
	/* the mask of an unbound process: all CPUs, of which 4-5 are ours */
	assert_node(topo, "4-7", 2, RU_TOPO_BOUND);
	assert_node(topo, "0-7", -ENOENT, RU_TOPO_SPANS);
	assert_node(topo, "0-1", -ENOENT, RU_TOPO_UNKNOWN);

	assert_int_equal(hwloc_bitmap_list_sscanf(kept, "4-5"), 0);
	assert_int_equal(hwloc_topology_restrict(
				 topo, kept, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS),
			 0);
	assert_node(topo, "0-7", 2, RU_TOPO_ONE_NODE);
	hwloc_bitmap_free(kept);
	hwloc_topology_destroy(topo);
}

static void node_without_memory_yields_to_the_nearest(void **state)
{
	hwloc_topology_t topo = recorded("four-nodes.xml");

	(void)state;
	assert_node(topo, "0", 0, RU_TOPO_BOUND);
	assert_node(topo, "4-5", 3, RU_TOPO_NEAREST);
	assert_node(topo, "6", 3, RU_TOPO_BOUND);
	hwloc_topology_destroy(topo);
}

static void caches_are_those_of_the_cpuset(void **state)
{
	hwloc_topology_t topo = recorded("two-hca.xml");
	hwloc_cpuset_t cpus = cpus_of("1");
	struct ru_topo_caches c;

	(void)state;
	ru_topo_caches_of_cpus(topo, cpus, &c);
	assert_int_equal(c.l2_bytes, 2 << 20);
	assert_int_equal(c.l3_bytes, 32 << 20);
	assert_int_equal(c.l3_cpus, 3); /* of four, one is offline */

	assert_int_equal(hwloc_bitmap_list_sscanf(cpus, "0-7"), 0);
	ru_topo_caches_of_cpus(topo, cpus, &c);
	assert_int_equal(c.l2_bytes, 1 << 20); /* the smaller kind */
	hwloc_bitmap_free(cpus);
	hwloc_topology_destroy(topo);
}

static void unknown_caches_are_zero(void **state)
{
	hwloc_topology_t topo = synthetic("numa:1 core:2 pu:1");
	hwloc_cpuset_t cpus = cpus_of("0-1");
	struct ru_topo_caches c = { 1, 1, 1 };

	(void)state;
	ru_topo_caches_of_cpus(topo, cpus, &c);
	assert_int_equal(c.l2_bytes, 0);
	assert_int_equal(c.l3_bytes, 0);
	assert_int_equal(c.l3_cpus, 0);
	hwloc_bitmap_free(cpus);
	hwloc_topology_destroy(topo);
}

static int hca_of(hwloc_topology_t topo, const char *list,
		  const char *const *names, size_t n, const char **name)
{
	hwloc_cpuset_t cpus = cpus_of(list);
	int distance = ru_topo_hca_of_cpus(topo, cpus, names, n, name);

	hwloc_bitmap_free(cpus);
	return distance;
}

static void nearest_hca_is_the_local_one(void **state)
{
	hwloc_topology_t topo = recorded("two-hca.xml");
	const char *name = NULL;

	(void)state;
	assert_int_equal(hca_of(topo, "0-2", NULL, 0, &name), 0);
	assert_string_equal(name, "mlx5_1");
	assert_int_equal(hca_of(topo, "5", NULL, 0, &name), 0);
	assert_string_equal(name, "mlx5_0");
	/* unbound: both are partly local */
	assert_int_equal(hca_of(topo, "0-7", NULL, 0, &name), 1);
	assert_string_equal(name, "mlx5_1");
	hwloc_topology_destroy(topo);
}

static void named_hcas_alone_are_chosen_in_their_order(void **state)
{
	hwloc_topology_t topo = recorded("two-hca.xml");
	const char *const far[] = { "mlx5_0" };
	const char *const both[] = { "mlx5_0", "mlx5_1" };
	const char *const other[] = { "ib23", "hfi1_0" };
	const char *name = NULL;

	(void)state;
	assert_int_equal(hca_of(topo, "0", far, 1, &name), 21);
	assert_string_equal(name, "mlx5_0");
	assert_int_equal(hca_of(topo, "0", both, 2, &name), 0);
	assert_string_equal(name, "mlx5_1");
	assert_int_equal(hca_of(topo, "0-7", both, 2, &name), 1);
	assert_string_equal(name, "mlx5_0");
	/* a network interface of an HCA is not an RDMA device */
	name = "kept";
	assert_int_equal(hca_of(topo, "0", other, 2, &name), -ENODEV);
	assert_string_equal(name, "kept");
	hwloc_topology_destroy(topo);
}

static void far_hcas_are_told_apart_by_distance(void **state)
{
	hwloc_topology_t topo = recorded("four-nodes.xml");
	const char *name = NULL;

	(void)state;
	assert_int_equal(hca_of(topo, "0-1", NULL, 0, &name), 16);
	assert_string_equal(name, "mlx5_0");
	assert_int_equal(hca_of(topo, "4", NULL, 0, &name), 16);
	assert_string_equal(name, "mlx5_1");
	hwloc_topology_destroy(topo);
}

static void machine_without_hca_has_none(void **state)
{
	hwloc_topology_t topo = synthetic("numa:2 core:2 pu:1");
	const char *name = NULL;

	(void)state;
	assert_int_equal(hca_of(topo, "0", NULL, 0, &name), -ENODEV);
	assert_null(name);
	hwloc_topology_destroy(topo);
}

static void every_reason_has_its_own_words(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < RU_TOPO_WHY_MAX; i++)
		for (j = 0; j < i; j++)
			assert_string_not_equal(ru_topo_why_str(i),
						ru_topo_why_str(j));
	assert_string_equal(ru_topo_why_str(RU_TOPO_WHY_MAX), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_node_is_chosen_for_any_cpuset),
		cmocka_unit_test(two_nodes_follow_the_binding),
		cmocka_unit_test(eight_nodes_with_scattered_indexes),
		cmocka_unit_test(offline_cpus_do_not_widen_the_binding),
		cmocka_unit_test(restricted_machine_has_only_its_own_nodes),
		cmocka_unit_test(node_without_memory_yields_to_the_nearest),
		cmocka_unit_test(caches_are_those_of_the_cpuset),
		cmocka_unit_test(unknown_caches_are_zero),
		cmocka_unit_test(nearest_hca_is_the_local_one),
		cmocka_unit_test(named_hcas_alone_are_chosen_in_their_order),
		cmocka_unit_test(far_hcas_are_told_apart_by_distance),
		cmocka_unit_test(machine_without_hca_has_none),
		cmocka_unit_test(every_reason_has_its_own_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
