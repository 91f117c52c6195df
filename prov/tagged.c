/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_tagged: the calls of tagged messages, each a thin wrapper that fills the
 * engine's description of a message. FI_PEEK and FI_CLAIM go to rdm_unexp.c.
 */
#include <config.h>

#include "prov/ep.h"

#define SEND_FLAGS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | \
			 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
			 FI_MATCH_COMPLETE | FI_REMOTE_CQ_DATA | FI_MORE)
#define RECV_FLAGS	(FI_COMPLETION | FI_MORE | FI_PEEK | FI_CLAIM | \
			 FI_DISCARD)

static inline struct rfi_ep *ep_of(struct fid_ep *fid)
{
	return ru_container_of(fid, struct rfi_ep, fid);
}

/* ---- receive -------------------------------------------------------- */

static ssize_t tagged_recvv(struct fid_ep *fid, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t src,
			    uint64_t tag, uint64_t ignore, void *context)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rfi_recv_args args = {
		.iov = iov,
		.iov_count = count,
		.src = src,
		.tag = tag,
		.ignore = ignore,
		.context = context,
	};

	(void)desc;
	return rfi_rdm_recv(ep, &args,
			    (ep->rx_flags & FI_COMPLETION) | FI_TAGGED);
}

static ssize_t tagged_recv(struct fid_ep *fid, void *buf, size_t len,
			   void *desc, fi_addr_t src, uint64_t tag,
			   uint64_t ignore, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	(void)desc;
	return tagged_recvv(fid, &iov, NULL, 1, src, tag, ignore, context);
}

static ssize_t tagged_recvmsg(struct fid_ep *fid,
			      const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rfi_recv_args args = {
		.iov = msg->msg_iov,
		.iov_count = msg->iov_count,
		.src = msg->addr,
		.tag = msg->tag,
		.ignore = msg->ignore,
		.context = msg->context,
	};

	if (flags & ~(uint64_t)RECV_FLAGS)
		return -FI_EBADFLAGS;
	flags &= ~(uint64_t)FI_MORE;
	flags |= ep->rx_msg_flags | FI_TAGGED;
	if (flags & FI_PEEK)
		return rfi_unexp_peek(ep, &args, flags);
	if (flags & FI_CLAIM)
		return rfi_unexp_claim(ep, &args, flags);
	if (flags & FI_DISCARD)
		return -FI_EBADFLAGS;
	return rfi_rdm_recv(ep, &args, flags);
}

/* ---- send ----------------------------------------------------------- */

static ssize_t tagged_sendv(struct fid_ep *fid, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t dest,
			    uint64_t tag, void *context)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rosm_rd_msg msg = {
		.tag = tag,
		.iov = iov,
		.iov_count = (uint32_t)count,
	};

	(void)desc;
	if (count > RFI_IOV_LIMIT)
		return -FI_EINVAL;
	return rfi_rdm_send(ep, &msg, dest, context, ep->tx_flags | FI_TAGGED);
}

static ssize_t tagged_send(struct fid_ep *fid, const void *buf, size_t len,
			   void *desc, fi_addr_t dest, uint64_t tag,
			   void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };

	(void)desc;
	return tagged_sendv(fid, &iov, NULL, 1, dest, tag, context);
}

static ssize_t tagged_sendmsg(struct fid_ep *fid, const struct fi_msg_tagged *m,
			      uint64_t flags)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rosm_rd_msg msg = {
		.tag = m->tag,
		.data = m->data,
		.flags = flags & FI_REMOTE_CQ_DATA ? ROSM_RD_DATA : 0,
		.iov = m->msg_iov,
		.iov_count = (uint32_t)m->iov_count,
	};

	if (flags & ~(uint64_t)SEND_FLAGS)
		return -FI_EBADFLAGS;
	if (m->iov_count > RFI_IOV_LIMIT)
		return -FI_EINVAL;
	return rfi_rdm_send(ep, &msg, m->addr, m->context,
			    flags | ep->tx_msg_flags | FI_TAGGED);
}

static ssize_t tagged_senddata(struct fid_ep *fid, const void *buf, size_t len,
			       void *desc, uint64_t data, fi_addr_t dest,
			       uint64_t tag, void *context)
{
	struct rfi_ep *ep = ep_of(fid);
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };
	struct rosm_rd_msg msg = {
		.tag = tag,
		.data = data,
		.flags = ROSM_RD_DATA,
		.iov = &iov,
		.iov_count = 1,
	};

	(void)desc;
	return rfi_rdm_send(ep, &msg, dest, context, ep->tx_flags | FI_TAGGED);
}

static ssize_t inject(struct fid_ep *fid, const void *buf, size_t len,
		      uint64_t data, uint32_t rd_flags, fi_addr_t dest,
		      uint64_t tag)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };
	struct rosm_rd_msg msg = {
		.tag = tag,
		.data = data,
		.flags = rd_flags,
		.iov = &iov,
		.iov_count = 1,
	};

	return rfi_rdm_send(ep_of(fid), &msg, dest, NULL,
			    FI_INJECT | FI_TAGGED);
}

static ssize_t tagged_inject(struct fid_ep *fid, const void *buf, size_t len,
			     fi_addr_t dest, uint64_t tag)
{
	return inject(fid, buf, len, 0, 0, dest, tag);
}

static ssize_t tagged_injectdata(struct fid_ep *fid, const void *buf,
				 size_t len, uint64_t data, fi_addr_t dest,
				 uint64_t tag)
{
	return inject(fid, buf, len, data, ROSM_RD_DATA, dest, tag);
}

struct fi_ops_tagged rfi_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
