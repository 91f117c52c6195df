/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_msg: the calls of untagged messages, each a thin wrapper that fills the
 * engine's description of a message.
 */
#include <config.h>

#include "prov/ep.h"

#define SEND_FLAGS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | \
			 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
			 FI_MATCH_COMPLETE | FI_REMOTE_CQ_DATA | FI_MORE)
#define RECV_FLAGS	(FI_COMPLETION | FI_MULTI_RECV | FI_MORE)

static inline struct rfi_ep *ep_of(struct fid_ep *fid)
{
	return ru_container_of(fid, struct rfi_ep, fid);
}

/* ---- receive -------------------------------------------------------- */

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t src,
			 void *context)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rfi_recv_args args = {
		.iov = iov,
		.iov_count = count,
		.src = src,
		.context = context,
	};

	(void)desc;
	return rfi_rdm_recv(ep, &args, ep->rx_flags | FI_MSG);
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
			fi_addr_t src, void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	(void)desc;
	return msg_recvv(fid, &iov, NULL, 1, src, context);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
			   uint64_t flags)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rfi_recv_args args = {
		.iov = msg->msg_iov,
		.iov_count = msg->iov_count,
		.src = msg->addr,
		.context = msg->context,
	};

	if (flags & ~(uint64_t)RECV_FLAGS)
		return -FI_EBADFLAGS;
	flags &= ~(uint64_t)FI_MORE;
	return rfi_rdm_recv(ep, &args, flags | ep->rx_msg_flags | FI_MSG);
}

/* ---- send ----------------------------------------------------------- */

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t dest,
			 void *context)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rosm_rd_msg msg = {
		.flags = ROSM_RD_MSG,
		.iov = iov,
		.iov_count = (uint32_t)count,
	};

	(void)desc;
	if (count > RFI_IOV_LIMIT)
		return -FI_EINVAL;
	return rfi_rdm_send(ep, &msg, dest, context, ep->tx_flags | FI_MSG);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len,
			void *desc, fi_addr_t dest, void *context)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };

	(void)desc;
	return msg_sendv(fid, &iov, NULL, 1, dest, context);
}

static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *m,
			   uint64_t flags)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rosm_rd_msg msg = {
		.data = m->data,
		.flags = ROSM_RD_MSG |
			 (flags & FI_REMOTE_CQ_DATA ? ROSM_RD_DATA : 0),
		.iov = m->msg_iov,
		.iov_count = (uint32_t)m->iov_count,
	};

	if (flags & ~(uint64_t)SEND_FLAGS)
		return -FI_EBADFLAGS;
	if (m->iov_count > RFI_IOV_LIMIT)
		return -FI_EINVAL;
	return rfi_rdm_send(ep, &msg, m->addr, m->context,
			    flags | ep->tx_msg_flags | FI_MSG);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len,
			    void *desc, uint64_t data, fi_addr_t dest,
			    void *context)
{
	struct rfi_ep *ep = ep_of(fid);
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };
	struct rosm_rd_msg msg = {
		.data = data,
		.flags = ROSM_RD_MSG | ROSM_RD_DATA,
		.iov = &iov,
		.iov_count = 1,
	};

	(void)desc;
	return rfi_rdm_send(ep, &msg, dest, context, ep->tx_flags | FI_MSG);
}

static ssize_t inject(struct fid_ep *fid, const void *buf, size_t len,
		      uint64_t data, uint32_t rd_flags, fi_addr_t dest)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };
	struct rosm_rd_msg msg = {
		.data = data,
		.flags = ROSM_RD_MSG | rd_flags,
		.iov = &iov,
		.iov_count = 1,
	};

	return rfi_rdm_send(ep_of(fid), &msg, dest, NULL, FI_INJECT | FI_MSG);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len,
			  fi_addr_t dest)
{
	return inject(fid, buf, len, 0, 0, dest);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len,
			      uint64_t data, fi_addr_t dest)
{
	return inject(fid, buf, len, data, ROSM_RD_DATA, dest);
}

struct fi_ops_msg rfi_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
