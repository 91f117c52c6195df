/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of util/topo.h that asks a machine: a made-up /sys, and this
 * machine's own nodes for the memory policy, which is read back.
 */
#include <config.h>

#include "util/topo.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>
#include <hwloc.h>

enum { LEN = 1 << 20 };

static char root[] = "/tmp/rosm-topo-XXXXXX";

static int make_root(void **state)
{
	(void)state;
	strcpy(root, "/tmp/rosm-topo-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", root);
	return system(cmd) ? -1 : 0;
}

/* Writes root/@name, creating the folders on the way. */
static void put(const char *name, const char *text)
{
	char path[256];
	char *p;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void put_caches(int cpu, const char *l2, const char *l3)
{
	static const char *const level[] = { "1\n", "1\n", "2\n", "3\n" };
	const char *size[] = { "48K\n", "32K\n", l2, l3 };
	char name[64];
	int i;

	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "cpu/cpu%d/cache/index%d/level",
			 cpu, i);
		put(name, level[i]);
		snprintf(name, sizeof(name), "cpu/cpu%d/cache/index%d/size",
			 cpu, i);
		put(name, size[i]);
	}
	snprintf(name, sizeof(name), "cpu/cpu%d/cache/index3/shared_cpu_list",
		 cpu);
	put(name, "0-3,8-11\n");
}

static void one_node_is_read_from_sys(void **state)
{
	struct ru_topo_caches c;
	int node;

	(void)state;
	put("node/has_memory", "0\n");
	put_caches(2, "1024K\n", "32768K\n");
	assert_int_equal(ru_topo_sysfs(root, 2, &node, &c), 1);
	assert_int_equal(node, 0);
	assert_int_equal(c.l2_bytes, 1 << 20);
	assert_int_equal(c.l3_bytes, 32 << 20);
	assert_int_equal(c.l3_cpus, 8);
	/* another CPU, of which nothing is known */
	assert_int_equal(ru_topo_sysfs(root, 3, &node, &c), 1);
	assert_int_equal(c.l2_bytes, 0);
	assert_int_equal(c.l3_bytes, 0);
	assert_int_equal(c.l3_cpus, 0);
}

static void nodes_with_memory_are_counted(void **state)
{
	struct ru_topo_caches c;
	int node;

	(void)state;
	put("node/has_memory", "0-1\n");
	assert_int_equal(ru_topo_sysfs(root, 0, &node, &c), 2);
	put("node/has_memory", "1,4-7,250\n");
	assert_int_equal(ru_topo_sysfs(root, 0, &node, &c), 6);
	assert_int_equal(node, 1);
	put("node/has_memory", "2\n");
	assert_int_equal(ru_topo_sysfs(root, 0, &node, &c), 1);
	assert_int_equal(node, 2);
}

static void unreadable_sys_is_no_node_and_no_cache(void **state)
{
	struct ru_topo_caches c;
	int node;

	(void)state;
	assert_int_equal(ru_topo_sysfs("/nonexistent", 0, &node, &c), 0);
	assert_int_equal(node, -1);
	put("node/has_memory", "7-3\n");
	assert_int_equal(ru_topo_sysfs(root, 0, &node, &c), 0);
	assert_int_equal(node, -1);
	put("node/has_memory", "\n");
	assert_int_equal(ru_topo_sysfs(root, 0, &node, &c), 0);
	assert_int_equal(node, -1);
	assert_int_equal(c.l2_bytes | c.l3_bytes | c.l3_cpus, 0);
}

/* The quick look and hwloc agree on this machine. */
static void local_agrees_with_the_loaded_topology(void **state)
{
	struct ru_topo_local local;
	struct ru_topo_caches c;
	hwloc_topology_t topo;
	hwloc_cpuset_t cpus = hwloc_bitmap_alloc();
	enum ru_topo_why why;
	int node;

	(void)state;
	ru_topo_local(&local);
	assert_int_equal(ru_topo_load(0, &topo), 0);
	assert_int_equal(hwloc_get_cpubind(topo, cpus, HWLOC_CPUBIND_THREAD),
			 0);
	node = ru_topo_node_of_cpus(topo, cpus, &why);
	ru_topo_caches_of_cpus(topo, cpus, &c);
	hwloc_bitmap_free(cpus);
	ru_topo_unload(topo);

	/* a kernel without NUMA has no list of nodes in /sys */
	if (access("/sys/devices/system/node/has_memory", R_OK) == 0)
		assert_int_equal(local.node, node < 0 ? -1 : node);
	assert_int_equal(local.why, why);
	if (local.caches.l2_bytes && c.l2_bytes && local.nodes > 1)
		assert_int_equal(local.caches.l2_bytes, c.l2_bytes);
}

static void *map_pages(void)
{
	void *p = mmap(NULL, LEN, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* Node of a page by the other system call that tells it. */
static int node_by_move_pages(void *page)
{
	int status = -1;

	assert_int_equal(syscall(SYS_move_pages, 0, 1UL, &page, NULL, &status,
				 0),
			 0);
	return status;
}

static void bound_range_has_the_policy_and_its_pages_the_node(void **state)
{
	struct ru_topo_local local;
	char *p = map_pages();
	int node, err;

	(void)state;
	ru_topo_local(&local);
	node = local.node < 0 ? 0 : local.node;
	assert_int_equal(ru_topo_node_of_policy(p), -ENOENT);
	err = ru_topo_bind(p, LEN / 2, node);
	if (err == -EPERM || err == -ENOSYS) {
		print_message("mbind is refused here: %s\n", strerror(-err));
		munmap(p, LEN);
		skip();
	}
	assert_int_equal(err, 0);
	assert_int_equal(ru_topo_node_of_policy(p), node);
	assert_int_equal(ru_topo_node_of_policy(p + LEN / 2 - 1), node);
	assert_int_equal(ru_topo_node_of_policy(p + LEN / 2), -ENOENT);
	memset(p, 1, LEN);
	assert_int_equal(ru_topo_node_of_page(p), node);
	assert_int_equal(node_by_move_pages(p), node);
	munmap(p, LEN);
}

/* A peer's mapping of the same memfd sees the owner's policy. */
static void policy_of_shared_memory_goes_with_the_object(void **state)
{
	int fd = memfd_create("rosm-test", MFD_CLOEXEC);
	struct ru_topo_local local;
	void *owner, *peer;
	int node, err;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LEN), 0);
	owner = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	peer = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(owner, MAP_FAILED);
	assert_ptr_not_equal(peer, MAP_FAILED);
	ru_topo_local(&local);
	node = local.node < 0 ? 0 : local.node;
	err = ru_topo_bind(owner, LEN, node);
	if (!err)
		assert_int_equal(ru_topo_node_of_policy(peer), node);
	munmap(owner, LEN);
	munmap(peer, LEN);
	if (err == -EPERM || err == -ENOSYS)
		skip();
	assert_int_equal(err, 0);
}

static void impossible_nodes_are_refused(void **state)
{
	char *p = map_pages();

	(void)state;
	assert_int_equal(ru_topo_bind(p, LEN, -1), -EINVAL);
	assert_int_equal(ru_topo_bind(p, LEN, 1 << 20), -EINVAL);
	assert_true(ru_topo_bind(p, LEN, 1023) < 0);
	assert_int_equal(ru_topo_node_of_policy(p), -ENOENT);
	munmap(p, LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_node_is_read_from_sys),
		cmocka_unit_test(nodes_with_memory_are_counted),
		cmocka_unit_test(unreadable_sys_is_no_node_and_no_cache),
		cmocka_unit_test(local_agrees_with_the_loaded_topology),
		cmocka_unit_test(
			bound_range_has_the_policy_and_its_pages_the_node),
		cmocka_unit_test(policy_of_shared_memory_goes_with_the_object),
		cmocka_unit_test(impossible_nodes_are_refused),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
