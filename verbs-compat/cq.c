/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. The address of rvc_poll_cq in a context is also the mark
 * by which our contexts are known (rvc_foreign).
 */
#include <config.h>

#include "verbs-compat/passthru.h"

int rvc_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	(void)cq;
	(void)num_entries;
	(void)wc;
	return -rvc_err(EOPNOTSUPP);
}

RVC_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
					void *cq_context,
					struct ibv_comp_channel *channel,
					int comp_vector)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_create_cq(context, cqe, cq_context, channel,
					     comp_vector);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	if (rvc_foreign(cq->context))
		return rvc_sys.ibv_resize_cq(cq, cqe);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (rvc_foreign(cq->context))
		return rvc_sys.ibv_destroy_cq(cq);
	return rvc_err(EOPNOTSUPP);
}
