/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The libfabric provider "rosmnull": every tagged operation is complete when
 * it is posted, and nothing moves. What a program takes over it is what the
 * program takes itself (MPI and its matching tables, libfabric's calls). Never
 * installed; bench/run names its folder in FI_PROVIDER_PATH.
 *
 * Offered is what MPI libraries ask for: tagged messages on reliable datagram
 * endpoints, one thread at a time. A receive "gets" its full length from a
 * sender with the tag that it asks for, so only programs that do not look at
 * what they receive can be measured. Members for other capabilities are unset,
 * as nobody is granted these.
 */
#include <config.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CQ_DEPTH = 4096, INJECT = 4096 };

#define NULL_CAPS (FI_TAGGED | FI_SEND | FI_RECV | FI_DIRECTED_RECV | \
		   FI_LOCAL_COMM | FI_REMOTE_COMM)

/* Each object starts with its fid, so that one close serves all. */
struct null_cq {
	struct fid_cq cq;
	unsigned int head, tail;
	struct fi_cq_tagged_entry entry[CQ_DEPTH];
};

struct null_ep {
	struct fid_ep ep;
	struct null_cq *tx, *rx;
};

static struct fi_provider provider;

static int null_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static int no_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	(void)fid, (void)to, (void)flags;
	return -FI_ENOSYS;
}

static int no_control(struct fid *fid, int command, void *arg)
{
	(void)fid, (void)command, (void)arg;
	return -FI_ENOSYS;
}

static int no_open(struct fid *fid, const char *name, uint64_t flags,
		   void **ops, void *context)
{
	(void)fid, (void)name, (void)flags, (void)ops, (void)context;
	return -FI_ENOSYS;
}

static struct fi_ops plain_ops = {
	.size = sizeof(plain_ops),
	.close = null_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_open,
};

/* ---- completion queue ------------------------------------------------ */

static inline ssize_t push(struct null_cq *cq, void *context, uint64_t flags,
			   size_t len, void *buf, uint64_t tag)
{
	struct fi_cq_tagged_entry *e;

	if (cq->tail - cq->head == CQ_DEPTH)
		return -FI_EAGAIN;
	e = &cq->entry[cq->tail++ % CQ_DEPTH];
	e->op_context = context;
	e->flags = flags;
	e->len = len;
	e->buf = buf;
	e->data = 0;
	e->tag = tag;
	return 0;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct null_cq *cq = (struct null_cq *)fid;
	struct fi_cq_tagged_entry *out = buf;
	size_t n = 0;

	while (n < count && cq->head != cq->tail)
		out[n++] = cq->entry[cq->head++ % CQ_DEPTH];
	return n ? (ssize_t)n : -FI_EAGAIN;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count,
			   fi_addr_t *src)
{
	ssize_t i, n = cq_read(fid, buf, count);

	for (i = 0; i < n; i++)
		src[i] = FI_ADDR_NOTAVAIL;
	return n;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf,
			  uint64_t flags)
{
	(void)fid, (void)buf, (void)flags;
	return -FI_EAGAIN;
}

static ssize_t cq_no_sread(struct fid_cq *fid, void *buf, size_t count,
			   const void *cond, int timeout)
{
	(void)fid, (void)buf, (void)count, (void)cond, (void)timeout;
	return -FI_ENOSYS;
}

static ssize_t cq_no_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
			       fi_addr_t *src, const void *cond, int timeout)
{
	(void)src;
	return cq_no_sread(fid, buf, count, cond, timeout);
}

static int cq_no_signal(struct fid_cq *fid)
{
	(void)fid;
	return -FI_ENOSYS;
}

static const char *cq_strerror(struct fid_cq *fid, int err, const void *data,
			       char *buf, size_t len)
{
	(void)fid, (void)data, (void)buf, (void)len;
	return fi_strerror(err);
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_no_sread,
	.sreadfrom = cq_no_sreadfrom,
	.signal = cq_no_signal,
	.strerror = cq_strerror,
};

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		   struct fid_cq **out, void *context)
{
	struct null_cq *cq;

	(void)domain;
	if (attr->format != FI_CQ_FORMAT_TAGGED || attr->wait_obj > FI_WAIT_UNSPEC)
		return -FI_ENOSYS;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->cq.fid.fclass = FI_CLASS_CQ;
	cq->cq.fid.context = context;
	cq->cq.fid.ops = &plain_ops;
	cq->cq.ops = &cq_ops;
	*out = &cq->cq;
	return 0;
}

/* ---- tagged messages ------------------------------------------------- */

static ssize_t t_recv(struct fid_ep *ep, void *buf, size_t len, void *desc,
		      fi_addr_t src, uint64_t tag, uint64_t ignore,
		      void *context)
{
	(void)desc, (void)src;
	return push(((struct null_ep *)ep)->rx, context, FI_RECV | FI_TAGGED,
		    len, buf, tag & ~ignore);
}

static ssize_t t_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		       size_t count, fi_addr_t src, uint64_t tag,
		       uint64_t ignore, void *context)
{
	(void)desc;
	return t_recv(ep, count ? iov[0].iov_base : NULL,
		      count ? iov[0].iov_len : 0, NULL, src, tag, ignore,
		      context);
}

/* Also the probing kind, which has nothing to find. */
static ssize_t t_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
			 uint64_t flags)
{
	if (flags & (FI_PEEK | FI_CLAIM | FI_DISCARD))
		return -FI_ENOSYS;
	return t_recvv(ep, msg->msg_iov, msg->desc, msg->iov_count, msg->addr,
		       msg->tag, msg->ignore, msg->context);
}

static ssize_t t_send(struct fid_ep *ep, const void *buf, size_t len,
		      void *desc, fi_addr_t dst, uint64_t tag, void *context)
{
	(void)buf, (void)desc, (void)dst;
	return push(((struct null_ep *)ep)->tx, context, FI_SEND | FI_TAGGED,
		    len, NULL, tag);
}

static ssize_t t_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		       size_t count, fi_addr_t dst, uint64_t tag, void *context)
{
	(void)iov, (void)desc, (void)count;
	return t_send(ep, NULL, 0, NULL, dst, tag, context);
}

static ssize_t t_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
			 uint64_t flags)
{
	(void)flags;
	return t_send(ep, NULL, 0, NULL, msg->addr, msg->tag, msg->context);
}

static ssize_t t_inject(struct fid_ep *ep, const void *buf, size_t len,
			fi_addr_t dst, uint64_t tag)
{
	(void)ep, (void)buf, (void)len, (void)dst, (void)tag;
	return 0;
}

static ssize_t t_senddata(struct fid_ep *ep, const void *buf, size_t len,
			  void *desc, uint64_t data, fi_addr_t dst,
			  uint64_t tag, void *context)
{
	(void)data;
	return t_send(ep, buf, len, desc, dst, tag, context);
}

static ssize_t t_injectdata(struct fid_ep *ep, const void *buf, size_t len,
			    uint64_t data, fi_addr_t dst, uint64_t tag)
{
	(void)data;
	return t_inject(ep, buf, len, dst, tag);
}

static struct fi_ops_tagged tagged_ops = {
	.size = sizeof(tagged_ops),
	.recv = t_recv,
	.recvv = t_recvv,
	.recvmsg = t_recvmsg,
	.send = t_send,
	.sendv = t_sendv,
	.sendmsg = t_sendmsg,
	.inject = t_inject,
	.senddata = t_senddata,
	.injectdata = t_injectdata,
};

/* ---- endpoint -------------------------------------------------------- */

static int ep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
	struct null_ep *ep = (struct null_ep *)fid;

	if (to->fclass == FI_CLASS_AV)
		return 0;
	if (to->fclass != FI_CLASS_CQ)
		return -FI_ENOSYS;
	if (flags & FI_TRANSMIT)
		ep->tx = (struct null_cq *)to;
	if (flags & FI_RECV)
		ep->rx = (struct null_cq *)to;
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct null_ep *ep = (struct null_ep *)fid;

	(void)arg;
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	return ep->tx && ep->rx ? 0 : -FI_ENOCQ;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = null_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = no_open,
};

/* What is posted is complete already. */
static ssize_t ep_cancel(struct fid *fid, void *context)
{
	(void)fid, (void)context;
	return -FI_ENOENT;
}

static int ep_getopt(struct fid *fid, int level, int name, void *val,
		     size_t *len)
{
	(void)fid, (void)level, (void)name, (void)val, (void)len;
	return -FI_ENOPROTOOPT;
}

static int ep_setopt(struct fid *fid, int level, int name, const void *val,
		     size_t len)
{
	(void)fid, (void)level, (void)name, (void)val, (void)len;
	return -FI_ENOPROTOOPT;
}

static int ep_no_tx(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
		    struct fid_ep **out, void *context)
{
	(void)sep, (void)index, (void)attr, (void)out, (void)context;
	return -FI_ENOSYS;
}

static int ep_no_rx(struct fid_ep *sep, int index, struct fi_rx_attr *attr,
		    struct fid_ep **out, void *context)
{
	(void)sep, (void)index, (void)attr, (void)out, (void)context;
	return -FI_ENOSYS;
}

static ssize_t ep_no_size_left(struct fid_ep *ep)
{
	(void)ep;
	return -FI_ENOSYS;
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = ep_no_tx,
	.rx_ctx = ep_no_rx,
	.rx_size_left = ep_no_size_left,
	.tx_size_left = ep_no_size_left,
};

static int cm_getname(fid_t fid, void *addr, size_t *len)
{
	uint64_t name = (uint64_t)getpid();
	size_t room = *len;

	(void)fid;
	*len = sizeof(name);
	if (room < sizeof(name))
		return -FI_ETOOSMALL;
	memcpy(addr, &name, sizeof(name));
	return 0;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(cm_ops),
	.getname = cm_getname,
};

static int ep_open(struct fid_domain *domain, struct fi_info *info,
		   struct fid_ep **out, void *context)
{
	struct null_ep *ep = calloc(1, sizeof(*ep));

	(void)domain, (void)info;
	if (!ep)
		return -FI_ENOMEM;
	ep->ep.fid.fclass = FI_CLASS_EP;
	ep->ep.fid.context = context;
	ep->ep.fid.ops = &ep_fid_ops;
	ep->ep.ops = &ep_ops;
	ep->ep.cm = &cm_ops;
	ep->ep.tagged = &tagged_ops;
	*out = &ep->ep;
	return 0;
}

/* ---- addresses ------------------------------------------------------- */

static int av_insert(struct fid_av *av, const void *addr, size_t count,
		     fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	size_t i;

	(void)av, (void)addr, (void)flags, (void)context;
	for (i = 0; fi_addr && i < count; i++)
		fi_addr[i] = i;
	return (int)count;
}

static int av_remove(struct fid_av *av, fi_addr_t *fi_addr, size_t count,
		     uint64_t flags)
{
	(void)av, (void)fi_addr, (void)count, (void)flags;
	return 0;
}

static struct fi_ops_av av_ops = {
	.size = sizeof(av_ops),
	.insert = av_insert,
	.remove = av_remove,
};

static int av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		   struct fid_av **out, void *context)
{
	struct fid_av *av = calloc(1, sizeof(*av));

	(void)domain, (void)attr;
	if (!av)
		return -FI_ENOMEM;
	av->fid.fclass = FI_CLASS_AV;
	av->fid.context = context;
	av->fid.ops = &plain_ops;
	av->ops = &av_ops;
	*out = av;
	return 0;
}

/* ---- domain, fabric, provider ---------------------------------------- */

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = av_open,
	.cq_open = cq_open,
	.endpoint = ep_open,
};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **out, void *context)
{
	struct fid_domain *domain = calloc(1, sizeof(*domain));

	(void)fabric, (void)info;
	if (!domain)
		return -FI_ENOMEM;
	domain->fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.context = context;
	domain->fid.ops = &plain_ops;
	domain->ops = &domain_ops;
	*out = domain;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = domain_open,
};

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out,
		       void *context)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	(void)attr;
	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.context = context;
	fabric->fid.ops = &plain_ops;
	fabric->ops = &fabric_ops;
	*out = fabric;
	return 0;
}

static int get_info(uint32_t version, const char *node, const char *service,
		    uint64_t flags, const struct fi_info *hints,
		    struct fi_info **out)
{
	struct fi_info *info;

	(void)node, (void)service, (void)flags;
	if (hints && (hints->caps & ~(uint64_t)NULL_CAPS ||
		      (hints->ep_attr && hints->ep_attr->type != FI_EP_UNSPEC &&
		       hints->ep_attr->type != FI_EP_RDM)))
		return -FI_ENODATA;
	info = fi_allocinfo();
	if (!info)
		return -FI_ENOMEM;
	info->caps = NULL_CAPS;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = SIZE_MAX / 2;
	info->ep_attr->mem_tag_format = UINT64_C(0xaaaaaaaaaaaaaaaa);
	info->ep_attr->tx_ctx_cnt = 1;
	info->ep_attr->rx_ctx_cnt = 1;
	info->tx_attr->caps = FI_TAGGED | FI_SEND;
	info->tx_attr->msg_order = FI_ORDER_SAS;
	info->tx_attr->inject_size = INJECT;
	info->tx_attr->size = CQ_DEPTH / 2;
	info->tx_attr->iov_limit = 4;
	info->rx_attr->caps = FI_TAGGED | FI_RECV | FI_DIRECTED_RECV;
	info->rx_attr->msg_order = FI_ORDER_SAS;
	info->rx_attr->size = CQ_DEPTH / 2;
	info->rx_attr->iov_limit = 4;
	info->domain_attr->threading = FI_THREAD_DOMAIN;
	info->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->resource_mgmt = FI_RM_ENABLED;
	info->domain_attr->av_type = FI_AV_UNSPEC;
	info->domain_attr->cq_data_size = 8;
	info->domain_attr->cq_cnt = 64;
	info->domain_attr->ep_cnt = 64;
	info->domain_attr->max_ep_tx_ctx = 1;
	info->domain_attr->max_ep_rx_ctx = 1;
	info->domain_attr->name = strdup("rosmnull0");
	info->fabric_attr->name = strdup("rosmnull");
	info->fabric_attr->prov_version = provider.version;
	info->fabric_attr->api_version = version;
	if (!info->domain_attr->name || !info->fabric_attr->name) {
		fi_freeinfo(info);
		return -FI_ENOMEM;
	}
	*out = info;
	return 0;
}

static void cleanup(void)
{
}

static struct fi_provider provider = {
	.name = "rosmnull",
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(1, 17),
	.getinfo = get_info,
	.fabric = fabric_open,
	.cleanup = cleanup,
};

FI_EXT_INI
{
	return &provider;
}
