/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What calls answer when they go on to the system's library and when there is
 * none to go to. Each case runs in a child, because the library looks for the
 * system's once, when it is loaded. Private functions are called by their
 * versioned names, as providers bind to them.
 */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>

/* From the build folder's top, where tests run. */
#define OUR_LIBRARY "./verbs-compat/.libs/libibverbs.so.1"

static int failures;
static void *lib;

#define CHECK(cond)							\
	((cond) ? (void)0 : (void)(failures++, fprintf(stderr,		\
		"%s:%d: not true: %s\n", __FILE__, __LINE__, #cond)))

static void *sym(const char *name, const char *version)
{
	void *fn = dlvsym(lib, name, version);

	if (!fn) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return fn;
}

static void device_list_is_never_null(void)
{
	struct ibv_device **(*get)(int *) = sym("ibv_get_device_list",
						"IBVERBS_1.1");
	void (*put)(struct ibv_device **) = sym("ibv_free_device_list",
						"IBVERBS_1.1");
	int n = -1;
	struct ibv_device **list = get(&n);

	CHECK(list);
	CHECK(n >= 0);
	if (!list)
		return;
	CHECK(!list[n]);
	put(list);
	list = get(NULL);
	CHECK(list);
	put(list);
}

static void without_system_trampolines_say_enosys(void)
{
	int (*get_context)(void *) = sym("ibv_cmd_get_context",
					 "IBVERBS_PRIVATE_34");
	int (*newest)(void *) = sym("ibv_cmd_get_context",
				    "IBVERBS_PRIVATE_65");
	void *(*open_1_0)(void *) = sym("ibv_open_device", "IBVERBS_1.0");
	void (*reg)(void *) = sym("verbs_register_driver_34",
				  "IBVERBS_PRIVATE_34");
	unsigned int (*attrs)(unsigned int, void *) =
		sym("__ioctl_final_num_attrs", "IBVERBS_PRIVATE_34");

	errno = 0;
	CHECK(get_context(NULL) == ENOSYS && errno == ENOSYS);
	errno = 0;
	CHECK(newest(NULL) == ENOSYS && errno == ENOSYS);
	errno = 0;
	CHECK(!open_1_0(NULL) && errno == ENOSYS);
	errno = 0;
	reg(NULL);
	CHECK(errno == 0);
	CHECK(attrs(5, NULL) == 0);
	device_list_is_never_null();
}

/* Versions of one name reach one flag. */
static void flag_is_one_byte_for_all_versions(void)
{
	bool *a = sym("verbs_allow_disassociate_destroy",
		      "IBVERBS_PRIVATE_34");
	bool *b = sym("verbs_allow_disassociate_destroy",
		      "IBVERBS_PRIVATE_65");

	CHECK(a == b);
	CHECK(!*a);
}

/* __ioctl_final_num_attrs(n, NULL) is n in the system's library. */
static void with_system_trampolines_reach_it(void)
{
	static const char *const nodes[] = {
		"IBVERBS_PRIVATE_34", "IBVERBS_PRIVATE_57",
		"IBVERBS_PRIVATE_59", "IBVERBS_PRIVATE_64",
		"IBVERBS_PRIVATE_65",
	};
	unsigned int (*attrs)(unsigned int, void *);
	int reached = 0;

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		attrs = sym("__ioctl_final_num_attrs", nodes[i]);
		reached += attrs(5, NULL) == 5;
	}
	CHECK(reached == 1);
	device_list_is_never_null();
}

/* A path that cannot be loaded is as if there were no system's library. */
static void broken_system_is_none(void)
{
	without_system_trampolines_say_enosys();
}

/* Ours itself is no system's library: it would call itself for ever. */
static void own_path_is_refused(void)
{
	without_system_trampolines_say_enosys();
}

static int run(const char *name, const char *system, void (*test)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		alarm(20);
		setenv("ROSM_VERBS_SYSTEM", system, 1);
		lib = dlopen(OUR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			_exit(1);
		}
		test();
		_exit(failures != 0);
	}
	if (waitpid(pid, &status, 0) != pid || status) {
		printf("failed: %s (status 0x%x)\n", name, status);
		return 1;
	}
	printf("passed: %s\n", name);
	return 0;
}

#define RUN(system, test) run(#test, system, test)

int main(void)
{
	int failed = 0;

	failed += RUN("none", without_system_trampolines_say_enosys);
	failed += RUN("none", flag_is_one_byte_for_all_versions);
	failed += RUN("/nonexistent", broken_system_is_none);
	failed += RUN(OUR_LIBRARY, own_path_is_refused);
#ifdef ROSM_SYSTEM_IBVERBS
	if (!access(ROSM_SYSTEM_IBVERBS, R_OK)) {
		failed += RUN("", with_system_trampolines_reach_it);
		return failed != 0;
	}
#endif
	printf("left out: the system has no libibverbs.so.1\n");
	return failed != 0;
}
