/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: create, modify, query, destroy.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd,
					struct ibv_qp_init_attr *attr)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_create_qp(pd, attr);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_qp_to_qp_ex(qp);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			     int attr_mask)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_modify_qp(qp, attr, attr_mask);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			    int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_query_qp(qp, attr, attr_mask, init_attr);
	return rvc_err(EOPNOTSUPP);
}

/* No promise beyond the verbs' own: ibv_query_qp_data_in_order(3). */
RVC_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp,
					  enum ibv_wr_opcode op,
					  uint32_t flags)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_query_qp_data_in_order(qp, op, flags);
	return 0;
}

RVC_EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_destroy_qp(qp);
	return rvc_err(EOPNOTSUPP);
}

/* Enhanced connection establishment is between vendors' firmwares. */
RVC_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_set_ece(qp, ece);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_query_ece(qp, ece);
	return rvc_err(EOPNOTSUPP);
}
