/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_alloc_pd(context);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_dealloc_pd(pd);
	return rvc_err(EOPNOTSUPP);
}
