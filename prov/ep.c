/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoint object: open, bind, options, enable, close. The data calls become
 * those of the endpoint when it is enabled; before that they answer
 * -FI_ENOSYS like those it has no capability for.
 */
#include <config.h>

#include "prov/ep.h"

#include <stdlib.h>

#include "util/log.h"

#define MIN_MULTI_RECV	64
#define TX_KEEP_FLAGS	(FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
			 FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

/* ---- binding -------------------------------------------------------- */

static int ep_bind_av(struct rfi_ep *ep, struct rfi_av *av)
{
	if (ep->av || av->domain != ep->domain)
		return -FI_EINVAL;
	ep->av = av;
	rfi_ref_get(&av->ref);
	rfi_lock_acquire(&av->eps_lock);
	ru_list_add_tail(&av->eps, &ep->av_link);
	rfi_lock_release(&av->eps_lock);
	return 0;
}

static int ep_bind_cq(struct rfi_ep *ep, struct rfi_cq *cq, uint64_t flags)
{
	if (flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION))
		return -FI_EBADFLAGS;
	if (cq->domain != ep->domain || !(flags & (FI_TRANSMIT | FI_RECV)) ||
	    (flags & FI_TRANSMIT && ep->tx_cq) ||
	    (flags & FI_RECV && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		rfi_ref_get(&cq->ref);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		rfi_ref_get(&cq->ref);
	}
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct rfi_ep *ep = ru_container_of(fid, struct rfi_ep, fid.fid);

	if (ep->rd)
		return -FI_EOPBADSTATE;
	switch (bfid->fclass) {
	case FI_CLASS_AV:
		return ep_bind_av(ep, ru_container_of(bfid, struct rfi_av,
						      fid.fid));
	case FI_CLASS_CQ:
		return ep_bind_cq(ep, ru_container_of(bfid, struct rfi_cq,
						      fid.fid), flags);
	case FI_CLASS_EQ:
		return 0;	/* a connectionless endpoint has no events */
	case FI_CLASS_CNTR:
		return -FI_ENOSYS;
	default:
		return -FI_EINVAL;
	}
}

/* ---- enabling ------------------------------------------------------- */

static void ep_flags(struct rfi_ep *ep)
{
	ep->tx_msg_flags = ep->tx_selective ? 0 : FI_COMPLETION;
	ep->rx_msg_flags = ep->rx_selective ? 0 : FI_COMPLETION;
	ep->tx_flags = (ep->tx_op_flags & TX_KEEP_FLAGS) | ep->tx_msg_flags |
		       (ep->tx_op_flags & FI_COMPLETION);
	ep->rx_flags = ep->rx_msg_flags |
		       (ep->rx_op_flags & (FI_COMPLETION | FI_MULTI_RECV));
}

static int ep_wait_fd(const struct rfi_ep *ep, const struct rfi_cq *cq)
{
	return ep->channel && cq->wait_fd >= 0 ?
		rosm_channel_fd(ep->channel) : -1;
}

static int ep_attach(struct rfi_ep *ep)
{
	int ret = 0;

	if (ep->tx_cq)
		ret = rfi_cq_attach(ep->tx_cq, &ep->tx_link,
				    ep_wait_fd(ep, ep->tx_cq));
	if (ret || !ep->rx_cq || ep->rx_cq == ep->tx_cq)
		return ret;
	ret = rfi_cq_attach(ep->rx_cq, &ep->rx_link,
			    ep_wait_fd(ep, ep->rx_cq));
	if (ret && ep->tx_cq)
		rfi_cq_detach(ep->tx_cq, &ep->tx_link,
			      ep_wait_fd(ep, ep->tx_cq));
	return ret;
}

static void ep_detach(struct rfi_ep *ep)
{
	if (ep->tx_cq)
		rfi_cq_detach(ep->tx_cq, &ep->tx_link,
			      ep_wait_fd(ep, ep->tx_cq));
	if (ep->rx_cq && ep->rx_cq != ep->tx_cq)
		rfi_cq_detach(ep->rx_cq, &ep->rx_link,
			      ep_wait_fd(ep, ep->rx_cq));
}

static int ep_enable(struct rfi_ep *ep)
{
	int ret;

	if (ep->rd)
		return 0;
	if (!ep->av)
		return -FI_ENOAV;
	if (ep->caps & (FI_SEND | FI_READ | FI_WRITE) && !ep->tx_cq)
		return -FI_ENOCQ;
	if (ep->caps & FI_RECV && !ep->rx_cq)
		return -FI_ENOCQ;
	ret = rfi_rdm_enable(ep);
	if (ret)
		return ret;
	ret = ep_attach(ep);
	if (ret) {
		rfi_rdm_disable(ep);
		return ret;
	}
	ep_flags(ep);
	if (ep->caps & FI_MSG)
		ep->fid.msg = &rfi_msg_ops;
	if (ep->caps & FI_TAGGED)
		ep->fid.tagged = &rfi_tagged_ops;
	if (ep->caps & FI_RMA)
		ep->fid.rma = &rfi_rma_ops;
	return 0;
}

static int ep_op_flags(struct rfi_ep *ep, uint64_t *flags, bool set)
{
	uint64_t *mine;

	if (*flags & FI_TRANSMIT)
		mine = &ep->tx_op_flags;
	else if (*flags & FI_RECV)
		mine = &ep->rx_op_flags;
	else
		return -FI_EINVAL;
	if (!set) {
		*flags = *mine;
		return 0;
	}
	*mine = *flags & ~(uint64_t)(FI_TRANSMIT | FI_RECV);
	ep_flags(ep);
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct rfi_ep *ep = ru_container_of(fid, struct rfi_ep, fid.fid);

	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep);
	case FI_GETOPSFLAG:
		return ep_op_flags(ep, arg, false);
	case FI_SETOPSFLAG:
		return ep_op_flags(ep, arg, true);
	default:
		return -FI_ENOSYS;
	}
}

/* ---- options -------------------------------------------------------- */

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	struct rfi_ep *ep = ru_container_of(fid, struct rfi_ep, fid.fid);

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (*len < sizeof(size_t))
		return -FI_ETOOSMALL;
	*(size_t *)value = ep->min_multi_recv;
	*len = sizeof(size_t);
	return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value,
		     size_t len)
{
	struct rfi_ep *ep = ru_container_of(fid, struct rfi_ep, fid.fid);

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (len != sizeof(size_t))
		return -FI_EINVAL;
	ep->min_multi_recv = *(const size_t *)value;
	return 0;
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
	return rfi_rdm_cancel(ru_container_of(fid, struct rfi_ep, fid.fid),
			      context);
}

static int ep_tx_ctx(struct fid_ep *ep, int index, struct fi_tx_attr *attr,
		     struct fid_ep **tx_ep, void *context)
{
	(void)ep;
	(void)index;
	(void)attr;
	(void)tx_ep;
	(void)context;
	return -FI_ENOSYS;
}

static int ep_rx_ctx(struct fid_ep *ep, int index, struct fi_rx_attr *attr,
		     struct fid_ep **rx_ep, void *context)
{
	(void)ep;
	(void)index;
	(void)attr;
	(void)rx_ep;
	(void)context;
	return -FI_ENOSYS;
}

static ssize_t ep_size_left(struct fid_ep *ep)
{
	(void)ep;
	return -FI_ENOSYS;
}

/* ---- object --------------------------------------------------------- */

static int ep_close(struct fid *fid)
{
	struct rfi_ep *ep = ru_container_of(fid, struct rfi_ep, fid.fid);

	if (ep->rd) {
		ep_detach(ep);
		rfi_rdm_disable(ep);
	}
	if (ep->tx_cq)
		rfi_ref_put(&ep->tx_cq->ref);
	if (ep->rx_cq)
		rfi_ref_put(&ep->rx_cq->ref);
	if (ep->av) {
		rfi_lock_acquire(&ep->av->eps_lock);
		ru_list_del(&ep->av_link);
		rfi_lock_release(&ep->av->eps_lock);
		rfi_ref_put(&ep->av->ref);
	}
	rfi_ref_put(&ep->domain->ref);
	free(ep);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = rfi_nosys_ops_open,
	.tostr = rfi_nosys_tostr,
	.ops_set = rfi_nosys_ops_set,
};

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = ep_tx_ctx,
	.rx_ctx = ep_rx_ctx,
	.rx_size_left = ep_size_left,
	.tx_size_left = ep_size_left,
};

int rfi_ep_open(struct fid_domain *fid, struct fi_info *info,
		struct fid_ep **out, void *context)
{
	struct rfi_domain *domain =
		ru_container_of(fid, struct rfi_domain, fid);
	struct rfi_ep *ep;

	if (!info || !info->ep_attr || info->ep_attr->type != FI_EP_RDM ||
	    info->ep_attr->tx_ctx_cnt > 1 || info->ep_attr->rx_ctx_cnt > 1)
		return -FI_EINVAL;
	if (info->caps & FI_RMA && !(domain->caps & FI_RMA))
		return -FI_EINVAL;
	if (info->src_addr &&
	    !rfi_addr_is_any(info->src_addr, info->src_addrlen) &&
	    !rfi_addr_valid(info->src_addr, info->src_addrlen))
		return -FI_EINVAL;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->domain = domain;
	ep->caps = info->caps;
	ep->tx_op_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
	ep->rx_op_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
	ep->min_multi_recv = MIN_MULTI_RECV;
	ep->tx_link.ep = ep;
	ep->rx_link.ep = ep;
	if (info->src_addr) {
		memcpy(ep->src, info->src_addr, ROSM_NAME_BYTES);
		ep->has_src = true;
	}
	rfi_lock_init(&ep->lock, domain->no_locks);
	rfi_ref_get(&domain->ref);
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &rfi_cm_ops;
	ep->fid.msg = &rfi_nosys_msg;
	ep->fid.tagged = &rfi_nosys_tagged;
	ep->fid.rma = &rfi_nosys_rma;
	ep->fid.atomic = &rfi_nosys_atomic;
	*out = &ep->fid;
	return 0;
}
