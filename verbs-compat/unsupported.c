/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exported verbs that our device does not have: import of objects by kernel
 * handle, DMA-BUF, DMA handles, provider buffers, completion counters. On an
 * object of a real device they go to the system's library; what takes an
 * object that only such a device can have made goes there at once.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

/* ---- import ------------------------------------------------------------- */

RVC_EXPORT struct ibv_pd *ibv_import_pd(struct ibv_context *context,
					uint32_t pd_handle)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_import_pd(context, pd_handle);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT void ibv_unimport_pd(struct ibv_pd *pd)
{
	if (rvc_foreign(pd->context))
		rvc_sys.ibv_unimport_pd(pd);
}

RVC_EXPORT struct ibv_mr *ibv_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_import_mr(pd, mr_handle);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT void ibv_unimport_mr(struct ibv_mr *mr)
{
	if (rvc_foreign(mr->context))
		rvc_sys.ibv_unimport_mr(mr);
}

RVC_EXPORT struct ibv_dm *ibv_import_dm(struct ibv_context *context,
					uint32_t dm_handle)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_import_dm(context, dm_handle);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT void ibv_unimport_dm(struct ibv_dm *dm)
{
	if (rvc_foreign(dm->context))
		rvc_sys.ibv_unimport_dm(dm);
}

/* ---- DMA-BUF and the extended registration ------------------------------- */

RVC_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					    size_t length, uint64_t iova,
					    int fd, int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_dmabuf_mr(pd, offset, length, iova, fd,
						 access);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd,
					struct ibv_mr_init_attr *attr)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_mr_ex(pd, attr);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_dm_export_dmabuf_fd(struct ibv_dm *dm)
{
	if (rvc_foreign(dm->context))
		return rvc_sys.ibv_dm_export_dmabuf_fd(dm);
	return rvc_minus_one(EOPNOTSUPP);
}

/* ---- DMA handles --------------------------------------------------------- */

RVC_EXPORT struct ibv_dmah *ibv_alloc_dmah(struct ibv_context *context,
					   struct ibv_dmah_init_attr *attr)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_alloc_dmah(context, attr);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_dealloc_dmah(struct ibv_dmah *dmah)
{
	return rvc_sys.ibv_dealloc_dmah(dmah);
}

/* ---- provider buffers ---------------------------------------------------- */

RVC_EXPORT void *ibv_alloc_buf(struct ibv_pd *pd, size_t size,
			       struct ibv_buf **buf)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_alloc_buf(pd, size, buf);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT void ibv_free_buf(struct ibv_buf *buf)
{
	rvc_sys.ibv_free_buf(buf);
}

RVC_EXPORT struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd,
					 struct ibv_buf *buf, void *addr,
					 size_t length, int access)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_reg_buf_mr(pd, buf, addr, length, access);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf)
{
	return rvc_sys.ibv_export_buf_dmabuf_fd(buf);
}

/* ---- completion counters ------------------------------------------------- */

RVC_EXPORT int _ibv_query_comp_cntr_caps(struct ibv_context *context,
					 struct ibv_comp_cntr_caps *caps,
					 size_t caps_size)
{
	if (rvc_foreign(context))
		return rvc_sys._ibv_query_comp_cntr_caps(context, caps,
							 caps_size);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT struct ibv_comp_cntr *
ibv_create_comp_cntr(struct ibv_context *context,
		     struct ibv_comp_cntr_init_attr *attr)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_create_comp_cntr(context, attr);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	return rvc_sys.ibv_destroy_comp_cntr(cntr);
}

RVC_EXPORT int ibv_set_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t value)
{
	return rvc_sys.ibv_set_comp_cntr(cntr, value);
}

RVC_EXPORT int ibv_set_err_comp_cntr(struct ibv_comp_cntr *cntr,
				     uint64_t value)
{
	return rvc_sys.ibv_set_err_comp_cntr(cntr, value);
}

RVC_EXPORT int ibv_inc_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t amount)
{
	return rvc_sys.ibv_inc_comp_cntr(cntr, amount);
}

RVC_EXPORT int ibv_inc_err_comp_cntr(struct ibv_comp_cntr *cntr,
				     uint64_t amount)
{
	return rvc_sys.ibv_inc_err_comp_cntr(cntr, amount);
}

RVC_EXPORT int ibv_read_comp_cntr(struct ibv_comp_cntr *cntr, uint64_t *value)
{
	return rvc_sys.ibv_read_comp_cntr(cntr, value);
}

RVC_EXPORT int ibv_read_err_comp_cntr(struct ibv_comp_cntr *cntr,
				      uint64_t *value)
{
	return rvc_sys.ibv_read_err_comp_cntr(cntr, value);
}

RVC_EXPORT int ibv_qp_attach_comp_cntr(struct ibv_qp *qp,
				       struct ibv_comp_cntr *cntr,
				       struct ibv_qp_attach_comp_cntr_attr *attr)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_qp_attach_comp_cntr(qp, cntr, attr);
	return rvc_err(EOPNOTSUPP);
}
