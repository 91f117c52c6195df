/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the system's libibverbs.so.1, loads it beside ours into the same
 * namespace (a second libc, as dlmopen gives, would have its own errno and a
 * second copy of each provider) and fills rvc_sys and the trampolines' slots.
 * That happens in the constructor, before any other thread can call us;
 * afterwards the tables are only read. Providers that the system's library
 * loads later bind to this library's symbols, which have the same soname, and
 * reach theirs through the trampolines.
 *
 * Where it is looked for: $ROSM_VERBS_SYSTEM (a path, or "none"), the path
 * known to configure, the folders that ld.so searches by itself.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

#include "util/env.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SONAME "libibverbs.so.1"

/* ---- what a missing function answers, whatever its prototype ------------ */

long rvc_absent_err(void);
long rvc_absent_neg(void);
void *rvc_absent_null(void);
long rvc_absent_nop(void);

long rvc_absent_err(void)
{
	return rvc_err(ENOSYS);
}

long rvc_absent_neg(void)
{
	return rvc_minus_one(ENOSYS);
}

void *rvc_absent_null(void)
{
	return rvc_null(ENOSYS);
}

long rvc_absent_nop(void)
{
	return 0;
}

/* ---- the tables, from symbols.tab --------------------------------------- */

#define RVC_SYS(name, version, absent) .name = (void *)rvc_absent_##absent,
#define RVC_SYS_PRIVATE(name, own, absent) RVC_SYS(name, "", absent)
#define RVC_TRAMP(idx, name, version, absent)
#define RVC_TRAMP_COUNT(n)
#define RVC_PRIVATE(version)
struct rvc_sys rvc_sys = {
#include "verbs-compat/symbols.h"
};
#undef RVC_SYS
#undef RVC_SYS_PRIVATE
#undef RVC_TRAMP_COUNT
#undef RVC_TRAMP
#undef RVC_PRIVATE

struct rvc_symbol {
	const char *name;
	const char *version;	/* NULL: the private node that the system has */
	size_t offset;		/* in struct rvc_sys; unused for trampolines */
};

#define RVC_SYS(name, version, absent) \
	{ #name, version, offsetof(struct rvc_sys, name) },
#define RVC_SYS_PRIVATE(name, own, absent) RVC_SYS(name, NULL, absent)
#define RVC_TRAMP(idx, name, version, absent)
#define RVC_TRAMP_COUNT(n)
#define RVC_PRIVATE(version)
static const struct rvc_symbol sys_symbols[] = {
#include "verbs-compat/symbols.h"
};
#undef RVC_SYS
#undef RVC_SYS_PRIVATE
#undef RVC_TRAMP_COUNT
#undef RVC_TRAMP
#undef RVC_PRIVATE

#define RVC_SYS(name, version, absent)
#define RVC_SYS_PRIVATE(name, own, absent)
#define RVC_TRAMP(idx, name, version, absent) [idx] = { #name, version, 0 },
#define RVC_TRAMP_COUNT(n)
#define RVC_PRIVATE(version)
static const struct rvc_symbol tramp_symbols[] = {
#include "verbs-compat/symbols.h"
};
#undef RVC_TRAMP
#undef RVC_TRAMP_COUNT
#undef RVC_PRIVATE

#define RVC_TRAMP(idx, name, version, absent)
#define RVC_TRAMP_COUNT(n) enum { TRAMP_COUNT = n };
#define RVC_PRIVATE(version)
#include "verbs-compat/symbols.h"
#undef RVC_TRAMP_COUNT
#undef RVC_PRIVATE

#define RVC_TRAMP_COUNT(n)
#define RVC_PRIVATE(version) version,
static const char *const private_nodes[] = {
#include "verbs-compat/symbols.h"
};
#undef RVC_SYS
#undef RVC_SYS_PRIVATE
#undef RVC_TRAMP
#undef RVC_TRAMP_COUNT
#undef RVC_PRIVATE

/* In trampoline.S, in the order of tramp_symbols. */
extern void *rvc_slot[TRAMP_COUNT];
extern bool rvc_allow_disassociate_destroy;

_Static_assert(sizeof(tramp_symbols) / sizeof(tramp_symbols[0]) == TRAMP_COUNT,
	       "one slot for each trampoline");

/* ---- loading ------------------------------------------------------------ */

static void *sys_handle;
static const char *sys_path;
static atomic_bool has_devices;
static const char *sys_private;	/* its private node, one of ours or NULL */

const char *rvc_sys_path(void)
{
	return sys_path;
}

static bool is_ourselves(const char *path)
{
	struct stat theirs, ours;
	Dl_info self;

	if (!dladdr(&rvc_sys, &self) || stat(self.dli_fname, &ours))
		return false;
	return !stat(path, &theirs) && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

static bool try_load(const char *path)
{
	if (is_ourselves(path))
		return false;
	sys_handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!sys_handle)
		return false;
	sys_path = path;
	return true;
}

static void load(void)
{
	static const char *const paths[] = {
#ifdef ROSM_SYSTEM_IBVERBS
		ROSM_SYSTEM_IBVERBS,
#endif
#if defined(__x86_64__)
		"/lib/x86_64-linux-gnu/" SONAME,
		"/usr/lib/x86_64-linux-gnu/" SONAME,
#elif defined(__aarch64__)
		"/lib/aarch64-linux-gnu/" SONAME,
		"/usr/lib/aarch64-linux-gnu/" SONAME,
#endif
		"/lib64/" SONAME,
		"/usr/lib64/" SONAME,
		"/lib/" SONAME,
		"/usr/lib/" SONAME,
	};
	const char *asked = ru_param_str("ROSM_VERBS_SYSTEM");

	if (*asked) {
		if (strcmp(asked, "none"))
			try_load(asked);
		return;
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (try_load(paths[i]))
			return;
}

static void find_private_node(void)
{
	for (size_t i = 0; i < sizeof(private_nodes) / sizeof(char *); i++)
		if (dlvsym(sys_handle, "ibv_cmd_get_context", private_nodes[i]))
			sys_private = private_nodes[i];
}

/* Only the private node that is there is worth asking for. */
static void *resolve(const struct rvc_symbol *symbol)
{
	const char *version = symbol->version;

	if (!version)
		version = sys_private;
	else if (strstr(version, "PRIVATE") && version != sys_private &&
		 (!sys_private || strcmp(version, sys_private)))
		return NULL;
	return version ? dlvsym(sys_handle, symbol->name, version) : NULL;
}

__attribute__((constructor)) static void passthru_init(void)
{
	int saved_errno = errno;

	load();
	if (sys_handle) {
		find_private_node();
		for (size_t i = 0;
		     i < sizeof(sys_symbols) / sizeof(sys_symbols[0]); i++) {
			void *fn = resolve(&sys_symbols[i]);

			if (fn)
				memcpy((char *)&rvc_sys + sys_symbols[i].offset,
				       &fn, sizeof(fn));
		}
		for (size_t i = 0; i < TRAMP_COUNT; i++) {
			void *fn = resolve(&tramp_symbols[i]);

			if (fn)
				rvc_slot[i] = fn;
		}
		dlerror();
	}
	errno = saved_errno;
}

/*
 * The system's library sets verbs_allow_disassociate_destroy when it first
 * looks for devices; providers may read our copy.
 */
static void sync_flag(void)
{
	const bool *theirs;

	if (!sys_private)
		return;
	theirs = dlvsym(sys_handle, "verbs_allow_disassociate_destroy",
			sys_private);
	if (theirs && theirs != &rvc_allow_disassociate_destroy)
		rvc_allow_disassociate_destroy = *theirs;
}

struct ibv_device **rvc_sys_device_list(int *num_out)
{
	struct ibv_device **list;
	int num = 0;

	*num_out = 0;
	if (!sys_handle)
		return NULL;
	list = rvc_sys.ibv_get_device_list(&num);
	sync_flag();
	if (!list)
		return NULL;
	if (num > 0)
		atomic_store_explicit(&has_devices, true,
				      memory_order_relaxed);
	*num_out = num;
	return list;
}

bool rvc_sys_has_devices(void)
{
	return atomic_load_explicit(&has_devices, memory_order_relaxed);
}
