/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of endpoints: getname once the endpoint is enabled, setname (a
 * service, to be bound by fi_enable) before. Nothing connects here.
 */
#include <config.h>

#include "prov/ep.h"

static int cm_setname(fid_t fid, void *addr, size_t len)
{
	struct rfi_ep *ep = ru_container_of(fid, struct rfi_ep, fid.fid);

	if (ep->rd)
		return -FI_EOPBADSTATE;
	if (!addr || len != ROSM_NAME_BYTES || !rfi_addr_is_service(addr))
		return -FI_EINVAL;
	memcpy(ep->src, addr, len);
	ep->has_src = true;
	return 0;
}

static int cm_getname(fid_t fid, void *addr, size_t *len)
{
	struct rfi_ep *ep = ru_container_of(fid, struct rfi_ep, fid.fid);
	uint8_t name[ROSM_NAME_BYTES];
	size_t have = *len;

	if (!ep->rd)
		return -FI_EOPBADSTATE;
	rosm_rd_name(ep->rd, name);
	*len = sizeof(name);
	if (addr)
		memcpy(addr, name, ru_min(have, sizeof(name)));
	return have < sizeof(name) ? -FI_ETOOSMALL : 0;
}

static int cm_getpeer(struct fid_ep *ep, void *addr, size_t *len)
{
	(void)ep;
	(void)addr;
	(void)len;
	return -FI_ENOSYS;
}

static int cm_connect(struct fid_ep *ep, const void *addr, const void *param,
		      size_t len)
{
	(void)ep;
	(void)addr;
	(void)param;
	(void)len;
	return -FI_ENOSYS;
}

static int cm_listen(struct fid_pep *pep)
{
	(void)pep;
	return -FI_ENOSYS;
}

static int cm_accept(struct fid_ep *ep, const void *param, size_t len)
{
	(void)ep;
	(void)param;
	(void)len;
	return -FI_ENOSYS;
}

static int cm_reject(struct fid_pep *pep, fid_t handle, const void *param,
		     size_t len)
{
	(void)pep;
	(void)handle;
	(void)param;
	(void)len;
	return -FI_ENOSYS;
}

static int cm_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)ep;
	(void)flags;
	return -FI_ENOSYS;
}

static int cm_join(struct fid_ep *ep, const void *addr, uint64_t flags,
		   struct fid_mc **mc, void *context)
{
	(void)ep;
	(void)addr;
	(void)flags;
	(void)mc;
	(void)context;
	return -FI_ENOSYS;
}

struct fi_ops_cm rfi_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = cm_setname,
	.getname = cm_getname,
	.getpeer = cm_getpeer,
	.connect = cm_connect,
	.listen = cm_listen,
	.accept = cm_accept,
	.reject = cm_reject,
	.shutdown = cm_shutdown,
	.join = cm_join,
};
