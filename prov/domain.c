/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Domain: the engine's context and one protection domain, and the ops table
 * that opens everything else. All objects of a domain hold a reference.
 */
#include <config.h>

#include "prov/rfi.h"

#include <stdlib.h>
#include <string.h>

#include "prov/cq.h"
#include "prov/ep.h"
#include "util/log.h"

static int domain_close(struct fid *fid)
{
	struct rfi_domain *domain =
		ru_container_of(fid, struct rfi_domain, fid.fid);

	if (rfi_ref_busy(&domain->ref))
		return -FI_EBUSY;
	if (rosm_pd_free(domain->pd))
		return -FI_EBUSY;
	rosm_ctx_close(domain->ctx);
	rfi_ref_put(&domain->fabric->ref);
	free(domain);
	return 0;
}

/* Keys are plain numbers, so raw keys are copies. */
static int domain_control(struct fid *fid, int command, void *arg)
{
	struct fi_mr_map_raw *map = arg;

	(void)fid;
	switch (command) {
	case FI_MAP_RAW_MR:
		if (map->key_size != sizeof(*map->key) || map->flags)
			return -FI_EINVAL;
		memcpy(map->key, map->raw_key, sizeof(*map->key));
		return 0;
	case FI_UNMAP_KEY:
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static int domain_scalable_ep(struct fid_domain *domain, struct fi_info *info,
			      struct fid_ep **sep, void *context)
{
	(void)domain;
	(void)info;
	(void)sep;
	(void)context;
	return -FI_ENOSYS;
}

static int domain_cntr_open(struct fid_domain *domain,
			    struct fi_cntr_attr *attr, struct fid_cntr **cntr,
			    void *context)
{
	(void)domain;
	(void)attr;
	(void)cntr;
	(void)context;
	return -FI_ENOSYS;
}

static int domain_poll_open(struct fid_domain *domain,
			    struct fi_poll_attr *attr, struct fid_poll **poll)
{
	(void)domain;
	(void)attr;
	(void)poll;
	return -FI_ENOSYS;
}

static int domain_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr,
			  struct fid_stx **stx, void *context)
{
	(void)domain;
	(void)attr;
	(void)stx;
	(void)context;
	return -FI_ENOSYS;
}

static int domain_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr,
			  struct fid_ep **srx, void *context)
{
	(void)domain;
	(void)attr;
	(void)srx;
	(void)context;
	return -FI_ENOSYS;
}

static int domain_query_atomic(struct fid_domain *domain,
			       enum fi_datatype datatype, enum fi_op op,
			       struct fi_atomic_attr *attr, uint64_t flags)
{
	(void)domain;
	(void)datatype;
	(void)op;
	(void)attr;
	(void)flags;
	return -FI_ENOSYS;
}

static int domain_query_collective(struct fid_domain *domain,
				   enum fi_collective_op coll,
				   struct fi_collective_attr *attr,
				   uint64_t flags)
{
	(void)domain;
	(void)coll;
	(void)attr;
	(void)flags;
	return -FI_ENOSYS;
}

static int domain_endpoint2(struct fid_domain *domain, struct fi_info *info,
			    struct fid_ep **ep, uint64_t flags, void *context)
{
	if (flags)
		return -FI_EBADFLAGS;
	return rfi_ep_open(domain, info, ep, context);
}

static struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.bind = rfi_nosys_bind,
	.control = domain_control,
	.ops_open = rfi_nosys_ops_open,
	.tostr = rfi_nosys_tostr,
	.ops_set = rfi_nosys_ops_set,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = rfi_av_open,
	.cq_open = rfi_cq_open,
	.endpoint = rfi_ep_open,
	.scalable_ep = domain_scalable_ep,
	.cntr_open = domain_cntr_open,
	.poll_open = domain_poll_open,
	.stx_ctx = domain_stx_ctx,
	.srx_ctx = domain_srx_ctx,
	.query_atomic = domain_query_atomic,
	.query_collective = domain_query_collective,
	.endpoint2 = domain_endpoint2,
};

int rfi_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_domain **out, void *context)
{
	const struct fi_domain_attr *attr = info->domain_attr;
	struct rfi_domain *domain;
	int ret;

	if (!attr || (attr->name && strcmp(attr->name, rosm_device_name())))
		return -FI_EINVAL;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	ret = rosm_ctx_open(&domain->ctx);
	if (ret)
		goto free_domain;
	ret = rosm_pd_alloc(domain->ctx, &domain->pd);
	if (ret)
		goto close_ctx;
	domain->caps = info->caps;
	domain->mr_mode = attr->mr_mode;
	domain->no_locks = attr->threading == FI_THREAD_DOMAIN;
	domain->fabric = ru_container_of(fabric, struct rfi_fabric, fid);
	rfi_ref_get(&domain->fabric->ref);
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = &domain_fid_ops;
	domain->fid.ops = &domain_ops;
	domain->fid.mr = &rfi_mr_ops;
	*out = &domain->fid;
	return 0;

close_ctx:
	rosm_ctx_close(domain->ctx);
free_domain:
	free(domain);
	return ret;
}
