/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing a device.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	if (!rvc_own_device(device))
		return rvc_sys.ibv_open_device(device);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_close_device(struct ibv_context *context)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_close_device(context);
	return rvc_minus_one(EOPNOTSUPP);
}

/* A command fd is the kernel's: only the system's library can know it. */
RVC_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	return rvc_sys_path() ? rvc_sys.ibv_import_device(cmd_fd)
			      : rvc_null(EOPNOTSUPP);
}
