/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. Access flags of IBV_ACCESS_OPTIONAL_RANGE are hints and are
 * dropped where the verb allows them; the flags of features that the device
 * does not have answer EOPNOTSUPP, unknown ones EINVAL (by the engine).
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "verbs-compat/passthru.h"

#include <stdlib.h>

static const unsigned int unsupported_access =
	IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
	IBV_ACCESS_HUGETLB;

static struct ibv_mr *reg_own(struct ibv_pd *pd, void *addr, size_t length,
			      uint64_t iova, unsigned int access)
{
	struct rvc_mr *mr;
	int err;

	if (access & unsupported_access)
		return rvc_null(EOPNOTSUPP);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return rvc_null(ENOMEM);
	err = rvc_handle_alloc(RVC_MR, mr, &mr->ibmr.handle);
	if (err)
		goto free_mr;
	err = rosm_mr_reg(rvc_pd(pd)->eng, addr, length, iova, access,
			  &mr->eng);
	if (err)
		goto free_handle;
	mr->ibmr.context = pd->context;
	mr->ibmr.pd = pd;
	mr->ibmr.addr = addr;
	mr->ibmr.length = length;
	mr->ibmr.lkey = rosm_mr_lkey(mr->eng);
	mr->ibmr.rkey = rosm_mr_rkey(mr->eng);
	return &mr->ibmr;

free_handle:
	rvc_handle_free(RVC_MR, mr->ibmr.handle);
free_mr:
	free(mr);
	return rvc_null(-err);
}

RVC_EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr,
				     size_t length, int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_mr(pd, addr, length, access);
	return reg_own(pd, addr, length, (uintptr_t)addr,
		       (unsigned int)access);
}

RVC_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr,
					  size_t length, uint64_t iova,
					  int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_mr_iova(pd, addr, length, iova, access);
	return reg_own(pd, addr, length, iova, (unsigned int)access);
}

RVC_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr,
					   size_t length, uint64_t iova,
					   unsigned int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_mr_iova2(pd, addr, length, iova,
						access);
	return reg_own(pd, addr, length, iova,
		       access & ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE);
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
	int err;

	if (rvc_foreign(mr->context))
		return rvc_sys.ibv_dereg_mr(mr);
	if (!rvc_handle_is(RVC_MR, mr->handle, mr))
		return rvc_err(ENOENT);
	err = rosm_mr_dereg(rvc_mr(mr)->eng);
	if (err)
		return rvc_err(-err);
	rvc_handle_free(RVC_MR, mr->handle);
	free(mr);
	return 0;
}

void rvc_mr_release(void *object)
{
	struct rvc_mr *mr = object;

	rosm_mr_dereg(mr->eng);
	free(mr);
}
