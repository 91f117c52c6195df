/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system's libibverbs behind ours. rvc_sys has its function for each name
 * that we define ourselves and that may meet an object of a real device; it is
 * filled once, by this library's constructor, and read-only from then on. No
 * member is ever NULL: what the system lacks answers ENOSYS.
 */
#ifndef RVC_PASSTHRU_H
#define RVC_PASSTHRU_H

#include "verbs-compat/rvc.h"

struct rvc_sys {
#define RVC_SYS(name, version, absent) __typeof__(name) *name;
#define RVC_TRAMP(idx, name, version, absent)
#define RVC_TRAMP_COUNT(n)
#define RVC_PRIVATE(version)
#define RVC_SYS_PRIVATE(name, own, absent) __typeof__(own) *name;
#include "verbs-compat/symbols.h"
#undef RVC_SYS
#undef RVC_TRAMP
#undef RVC_TRAMP_COUNT
#undef RVC_PRIVATE
#undef RVC_SYS_PRIVATE
};

extern struct rvc_sys rvc_sys;

/* Path of the library that was loaded, or NULL: none. */
const char *rvc_sys_path(void);

/* The system's device list was once not empty. */
bool rvc_sys_has_devices(void);

/*
 * The system's list of devices, NULL with *num_out 0 if it has none or cannot
 * say. Free it with rvc_sys.ibv_free_device_list.
 */
struct ibv_device **rvc_sys_device_list(int *num_out);

#endif
