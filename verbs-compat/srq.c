/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
					  struct ibv_srq_init_attr *attr)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_create_srq(pd, attr);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr,
			      int attr_mask)
{
	if (rvc_foreign(srq->context))
		return rvc_sys.ibv_modify_srq(srq, attr, attr_mask);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	if (rvc_foreign(srq->context))
		return rvc_sys.ibv_query_srq(srq, attr);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	if (rvc_foreign(srq->context))
		return rvc_sys.ibv_destroy_srq(srq);
	return rvc_err(EOPNOTSUPP);
}
