/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(). Our device pins no pages, so it needs no preparation; the calls still
 * go to the system's library, whose devices may. A child must not use its
 * parent's contexts.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT int ibv_fork_init(void)
{
	return rvc_sys_path() ? rvc_sys.ibv_fork_init() : 0;
}

/* For our device there is no need; with real devices their library knows. */
RVC_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	if (rvc_sys_has_devices())
		return rvc_sys.ibv_is_fork_initialized();
	return IBV_FORK_UNNEEDED;
}

RVC_EXPORT int ibv_dontfork_range(void *base, size_t size)
{
	return rvc_sys_path() ? rvc_sys.ibv_dontfork_range(base, size) : 0;
}

RVC_EXPORT int ibv_dofork_range(void *base, size_t size)
{
	return rvc_sys_path() ? rvc_sys.ibv_dofork_range(base, size) : 0;
}
