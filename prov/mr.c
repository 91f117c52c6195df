/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions. Local buffers need none. A region that peers may read or
 * write is the engine's MR, its key the rkey, and a remote address counts
 * from its start, or is the virtual address if the domain has
 * FI_MR_VIRT_ADDR (or FI_MR_BASIC). In a domain whose keys are the program's
 * there is no remote access (prov/info.c says why), and a region is only a
 * name for memory.
 */
#include <config.h>

#include "prov/rfi.h"

#include <stdlib.h>
#include <string.h>

#define ACCESS_LOCAL	(FI_SEND | FI_RECV | FI_READ | FI_WRITE)
#define ACCESS_REMOTE	(FI_REMOTE_READ | FI_REMOTE_WRITE)

struct rfi_mr {
	struct fid_mr fid;
	struct rfi_domain *domain;
	struct rosm_mr *mr;	/* NULL without remote access */
	uint64_t base;
};

static bool mr_prov_key(const struct rfi_domain *domain)
{
	return domain->mr_mode & (FI_MR_PROV_KEY | RFI_MR_BASIC);
}

static bool mr_virt_addr(const struct rfi_domain *domain)
{
	return domain->mr_mode & (FI_MR_VIRT_ADDR | RFI_MR_BASIC);
}

static int mr_close(struct fid *fid)
{
	struct rfi_mr *mr = ru_container_of(fid, struct rfi_mr, fid.fid);
	int ret = mr->mr ? rosm_mr_dereg(mr->mr) : 0;

	if (ret)
		return ret;
	rfi_ref_put(&mr->domain->ref);
	free(mr);
	return 0;
}

static int mr_get_raw(struct rfi_mr *mr, struct fi_mr_raw_attr *raw)
{
	size_t have = *raw->key_size;

	if (raw->flags)
		return -FI_EBADFLAGS;
	*raw->key_size = sizeof(mr->fid.key);
	if (have < sizeof(mr->fid.key))
		return -FI_ETOOSMALL;
	memcpy(raw->raw_key, &mr->fid.key, sizeof(mr->fid.key));
	if (raw->base_addr)
		*raw->base_addr = mr->base;
	return 0;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	struct rfi_mr *mr = ru_container_of(fid, struct rfi_mr, fid.fid);

	switch (command) {
	case FI_ENABLE:		/* regions are enabled when they are made */
		return 0;
	case FI_GET_RAW_MR:
		return mr_get_raw(mr, arg);
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = rfi_nosys_bind,
	.control = mr_control,
	.ops_open = rfi_nosys_ops_open,
	.tostr = rfi_nosys_tostr,
	.ops_set = rfi_nosys_ops_set,
};

static uint32_t mr_access(uint64_t access)
{
	uint32_t a = 0;

	if (access & (FI_RECV | FI_READ | FI_REMOTE_WRITE))
		a |= ROSM_ACCESS_LOCAL_WRITE;
	if (access & FI_REMOTE_READ)
		a |= ROSM_ACCESS_REMOTE_READ;
	if (access & FI_REMOTE_WRITE)
		a |= ROSM_ACCESS_REMOTE_WRITE;
	return a;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
		      uint64_t flags, struct fid_mr **out)
{
	struct rfi_domain *domain;
	const struct iovec *iov;
	struct rfi_mr *mr;
	int ret;

	if (fid->fclass != FI_CLASS_DOMAIN || !attr || attr->iov_count != 1 ||
	    !attr->mr_iov || attr->offset ||
	    attr->access & ~(uint64_t)(ACCESS_LOCAL | ACCESS_REMOTE))
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	domain = ru_container_of(fid, struct rfi_domain, fid.fid);
	iov = attr->mr_iov;
	if (attr->access & ACCESS_REMOTE && !mr_prov_key(domain))
		return -FI_EACCES;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -FI_ENOMEM;
	mr->base = mr_virt_addr(domain) ? (uintptr_t)iov->iov_base : 0;
	mr->fid.key = attr->requested_key;
	if (mr_prov_key(domain)) {
		ret = rosm_mr_reg(domain->pd, iov->iov_base, iov->iov_len,
				  mr->base, mr_access(attr->access), &mr->mr);
		if (ret) {
			free(mr);
			return ret;
		}
		mr->fid.key = rosm_mr_rkey(mr->mr);
	}
	mr->domain = domain;
	rfi_ref_get(&domain->ref);
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.mem_desc = mr;
	*out = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
		   uint64_t access, uint64_t offset, uint64_t requested_key,
		   uint64_t flags, struct fid_mr **mr, void *context)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov,
		.iov_count = count,
		.access = access,
		.offset = offset,
		.requested_key = requested_key,
		.context = context,
	};

	return mr_regattr(fid, &attr, flags, mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
		  uint64_t offset, uint64_t requested_key, uint64_t flags,
		  struct fid_mr **mr, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr,
		       context);
}

struct fi_ops_mr rfi_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
