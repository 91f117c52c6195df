/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_attach_mcast(qp, gid, lid);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
				uint16_t lid)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_detach_mcast(qp, gid, lid);
	return rvc_err(EOPNOTSUPP);
}
