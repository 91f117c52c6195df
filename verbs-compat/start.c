/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Also in librosm-path.so: what makes processes under `rosm run` start sooner.
 *
 * Registering for membarrier waits for all processors once a process has
 * threads (tens of milliseconds, and an MPI process has some before it looks
 * for a provider); here, before main(), it costs a system call, and it holds
 * until the next exec. libfabric reads the 5 MB of /proc/kallsyms twice, line
 * by line, to learn about GPU memory registration in HCA drivers; with rosm as
 * the only provider the answer is not used, so it gets an empty file. Nobody
 * else does.
 */
#include <config.h>

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

FILE *fopen64(const char *path, const char *mode);

__attribute__((constructor)) static void register_early(void)
{
	/* a kernel without it says so; the engine asks again */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

static int asked_by_libfabric(const void *caller)
{
	const char *only = getenv("FI_PROVIDER"), *name;
	Dl_info info;

	if (!only || strcmp(only, "rosm") || !dladdr(caller, &info))
		return 0;
	name = strrchr(info.dli_fname, '/');
	return !strncmp(name ? name + 1 : info.dli_fname, "libfabric.so",
			strlen("libfabric.so"));
}

static FILE *open_as(const char *symbol, const char *path, const char *mode,
		     const void *caller)
{
	FILE *(*next)(const char *, const char *);

	if (!strcmp(path, "/proc/kallsyms") && asked_by_libfabric(caller))
		path = "/dev/null";
	*(void **)&next = dlsym(RTLD_NEXT, symbol);
	return next(path, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	return open_as("fopen", path, mode, __builtin_return_address(0));
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
	return open_as("fopen64", path, mode, __builtin_return_address(0));
}
