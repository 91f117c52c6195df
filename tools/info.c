/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rosm info`: what this machine lets rosm do, each verdict with its reason,
 * and the topology as hwloc sees it with what rosm draws from it.
 */
#include <config.h>

#include "tools/cmd.h"
#include "tools/probe.h"
#include "util/topo.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <hwloc.h>

static const char *const verdict_text[PROBE_VERDICTS] = {
	[PROBE_YES] = "yes",
	[PROBE_LIMITED] = "limited",
	[PROBE_NO] = "no",
};

static void print_probes(void)
{
	struct probe_result result;
	unsigned i;

	printf("what this machine allows:\n");
	for (i = 0; i < probes_count; i++) {
		memset(&result, 0, sizeof(result));
		fflush(stdout); /* a probe may fork */
		probes[i].run(&result);
		printf("  %-23s %-7s %s", probes[i].name,
		       verdict_text[result.verdict], result.reason);
		if (result.verdict == PROBE_NO)
			printf("; %s", probes[i].without);
		putchar('\n');
	}
}

static void print_object(const char *what, const char *path)
{
	printf("  %-23s %-7s %s%s\n", what,
	       access(path, R_OK) ? "no" : "yes", path,
	       access(path, R_OK) ? " is not there" : "");
}

static void print_objects(void)
{
	char path[PATH_MAX + 32];
	struct tool_place place;

	printf("rosm's objects:\n");
	if (tool_place_find(&place)) {
		printf("  not found: this command lies neither where it was "
		       "installed nor in its build tree\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/librosm-fi.so", place.fi_dir);
	print_object("libfabric provider", path);
	snprintf(path, sizeof(path), "%s/libibverbs.so.1", place.verbs_dir);
	print_object("verbs library", path);
	print_object("preload", place.preload);
}

/* One line a level: "2 L3Cache of 32 MiB". Levels of I/O have none. */
static void print_levels(hwloc_topology_t topo)
{
	int depth, n = hwloc_topology_get_depth(topo);
	hwloc_obj_t obj;
	char type[64];

	for (depth = 0; depth < n; depth++) {
		obj = hwloc_get_obj_by_depth(topo, depth, 0);
		if (!obj)
			continue;
		hwloc_obj_type_snprintf(type, sizeof(type), obj, 1);
		printf("  %u %s", hwloc_get_nbobjs_by_depth(topo, depth), type);
		if (hwloc_obj_type_is_cache(obj->type))
			printf(" of %" PRIu64 " KiB",
			       (uint64_t)obj->attr->cache.size / 1024);
		putchar('\n');
	}
}

static void print_nodes(hwloc_topology_t topo)
{
	hwloc_obj_t node = NULL;
	char cpus[256];

	while ((node = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE,
						  node))) {
		hwloc_bitmap_list_snprintf(cpus, sizeof(cpus), node->cpuset);
		printf("  memory node %u: %" PRIu64 " MiB, CPUs %s\n",
		       node->os_index,
		       (uint64_t)node->attr->numanode.local_memory >> 20,
		       *cpus ? cpus : "none");
	}
}

/* RDMA devices that the kernel has, whether hwloc can place them or not. */
static unsigned print_hcas(hwloc_topology_t topo, hwloc_const_cpuset_t cpus)
{
	DIR *dir = opendir("/sys/class/infiniband");
	struct dirent *e;
	const char *names[1], *name;
	unsigned n = 0;
	int distance;

	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		names[0] = e->d_name;
		distance = ru_topo_hca_of_cpus(topo, cpus, names, 1, &name);
		if (distance < 0)
			printf("  HCA %s: hwloc does not place it\n",
			       e->d_name);
		else
			printf("  HCA %s: distance %d\n", e->d_name, distance);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static void print_draws(hwloc_topology_t topo)
{
	hwloc_cpuset_t cpus = hwloc_bitmap_alloc();
	struct ru_topo_caches caches;
	enum ru_topo_why why;
	const char *hca = NULL;
	char list[256];
	unsigned n_hcas;
	int node;

	if (!cpus)
		return;
	if (!hwloc_topology_is_thissystem(topo) ||
	    hwloc_get_cpubind(topo, cpus, HWLOC_CPUBIND_THREAD))
		hwloc_bitmap_copy(cpus, hwloc_topology_get_topology_cpuset(topo));
	hwloc_bitmap_list_snprintf(list, sizeof(list), cpus);
	node = ru_topo_node_of_cpus(topo, cpus, &why);
	ru_topo_caches_of_cpus(topo, cpus, &caches);
	n_hcas = print_hcas(topo, cpus);

	printf("what rosm draws from it, for a process on CPUs %s:\n", list);
	if (node < 0)
		printf("  queues: on no particular node; %s\n",
		       ru_topo_why_str(why));
	else
		printf("  queues: on node %d; %s\n", node,
		       ru_topo_why_str(why));
	printf("  caches: L2 %" PRIu64 " KiB, L3 %" PRIu64
	       " KiB shared by %u CPUs (0: not known)\n",
	       caches.l2_bytes / 1024, caches.l3_bytes / 1024, caches.l3_cpus);
	if (ru_topo_hca_of_cpus(topo, cpus, NULL, 0, &hca) >= 0)
		printf("  HCA: %s is nearest\n", hca);
	else if (n_hcas)
		printf("  HCA: hwloc places none; the first is taken\n");
	else
		printf("  HCA: none; peers on other nodes cannot be reached\n");
	hwloc_bitmap_free(cpus);
}

static int print_topology(void)
{
	hwloc_topology_t topo;
	int err = ru_topo_load(1, &topo);

	if (err) {
		tool_say("info: topology: %s", strerror(-err));
		return TOOL_FAILED;
	}
	printf("topology (hwloc %#x%s):\n", hwloc_get_api_version(),
	       hwloc_topology_is_thissystem(topo) ? "" :
						    ", not of this machine");
	print_levels(topo);
	print_nodes(topo);
	print_draws(topo);
	ru_topo_unload(topo);
	return TOOL_OK;
}

int tool_info(int argc, char **argv)
{
	struct utsname un;
	int status;

	if (argc > 1)
		return tool_usage_error("info", argv[1]);
	if (uname(&un))
		memset(&un, 0, sizeof(un));
	printf("rosm %s on %s %s, %s\n", PACKAGE_VERSION, un.sysname,
	       un.release, un.machine);
	/* a file size limit then shows as EFBIG */
	signal(SIGXFSZ, SIG_IGN);
	print_objects();
	print_probes();
	status = print_topology();
	return status ? status : tool_flush();
}
