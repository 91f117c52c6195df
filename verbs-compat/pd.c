/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "verbs-compat/passthru.h"

#include <stdlib.h>

static struct ibv_pd *alloc_own(struct ibv_context *context)
{
	struct rvc_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return rvc_null(ENOMEM);
	err = rvc_handle_alloc(RVC_PD, pd, &pd->ibpd.handle);
	if (err)
		goto free_pd;
	err = rosm_pd_alloc(rvc_context(context)->eng, &pd->eng);
	if (err)
		goto free_handle;
	pd->ibpd.context = context;
	return &pd->ibpd;

free_handle:
	rvc_handle_free(RVC_PD, pd->ibpd.handle);
free_pd:
	free(pd);
	return rvc_null(-err);
}

RVC_EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_alloc_pd(context);
	return alloc_own(context);
}

RVC_EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int err;

	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_dealloc_pd(pd);
	if (!rvc_handle_is(RVC_PD, pd->handle, pd))
		return rvc_err(ENOENT);
	err = rosm_pd_free(rvc_pd(pd)->eng);
	if (err)
		return rvc_err(-err);
	rvc_handle_free(RVC_PD, pd->handle);
	free(pd);
	return 0;
}

void rvc_pd_release(void *object)
{
	struct rvc_pd *pd = object;

	rosm_pd_free(pd->eng);
	free(pd);
}
