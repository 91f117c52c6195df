/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr,
				     size_t length, int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_mr(pd, addr, length, access);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr,
					  size_t length, uint64_t iova,
					  int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_mr_iova(pd, addr, length, iova, access);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr,
					   size_t length, uint64_t iova,
					   unsigned int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_mr_iova2(pd, addr, length, iova,
						access);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd,
			    void *addr, size_t length, int access)
{
	if (rvc_foreign(mr->context))
		return rvc_sys.ibv_rereg_mr(mr, flags, pd, addr, length,
					    access);
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

RVC_EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (rvc_foreign(mr->context))
		return rvc_sys.ibv_dereg_mr(mr);
	return rvc_err(EOPNOTSUPP);
}
