/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_rma: the calls of one-sided reads and writes, each a thin wrapper that
 * fills the engine's description. One remote range each (rma_iov_limit).
 */
#include <config.h>

#include "prov/ep.h"

#define RMA_FLAGS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | \
			 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
			 FI_REMOTE_CQ_DATA | FI_MORE)

static inline struct rfi_ep *ep_of(struct fid_ep *fid)
{
	return ru_container_of(fid, struct rfi_ep, fid);
}

static ssize_t rma_vec(struct fid_ep *fid, const struct iovec *iov,
		       size_t count, fi_addr_t peer, uint64_t addr,
		       uint64_t key, void *context, bool write)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rosm_rd_rma rma = {
		.iov = iov,
		.iov_count = (uint32_t)count,
		.remote_addr = addr,
	};
	uint64_t flags = ep->tx_flags;

	if (count > RFI_IOV_LIMIT)
		return -FI_EINVAL;
	if (!write)
		flags &= ~(uint64_t)FI_INJECT;
	return rfi_rdm_rma(ep, &rma, write, peer, key, context, flags);
}

static ssize_t rma_msg(struct fid_ep *fid, const struct fi_msg_rma *msg,
		       uint64_t flags, bool write)
{
	struct rfi_ep *ep = ep_of(fid);
	struct rosm_rd_rma rma = {
		.iov = msg->msg_iov,
		.iov_count = (uint32_t)msg->iov_count,
		.flags = flags & FI_REMOTE_CQ_DATA ? ROSM_RD_DATA : 0,
		.data = msg->data,
	};

	if (flags & ~(uint64_t)RMA_FLAGS)
		return -FI_EBADFLAGS;
	if (!write && flags & (FI_INJECT | FI_REMOTE_CQ_DATA))
		return -FI_EBADFLAGS;
	if (msg->iov_count > RFI_IOV_LIMIT || msg->rma_iov_count != 1)
		return -FI_EINVAL;
	rma.remote_addr = msg->rma_iov[0].addr;
	return rfi_rdm_rma(ep, &rma, write, msg->addr, msg->rma_iov[0].key,
			   msg->context, flags | ep->tx_msg_flags);
}

/* Writes of one buffer, with or without data, injected or not. */
static ssize_t rma_write_buf(struct fid_ep *fid, const void *buf, size_t len,
			     uint64_t data, uint32_t rd_flags, fi_addr_t dest,
			     uint64_t addr, uint64_t key, void *context,
			     uint64_t flags)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf,
			     .iov_len = len };
	struct rosm_rd_rma rma = {
		.iov = &iov,
		.iov_count = 1,
		.flags = rd_flags,
		.remote_addr = addr,
		.data = data,
	};

	return rfi_rdm_rma(ep_of(fid), &rma, true, dest, key, context, flags);
}

/* ---- read ----------------------------------------------------------- */

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t src,
			 uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	return rma_vec(fid, iov, count, src, addr, key, context, false);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
			fi_addr_t src, uint64_t addr, uint64_t key,
			void *context)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };

	(void)desc;
	return rma_vec(fid, &iov, 1, src, addr, key, context, false);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	return rma_msg(fid, msg, flags, false);
}

/* ---- write ---------------------------------------------------------- */

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov,
			  void **desc, size_t count, fi_addr_t dest,
			  uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	return rma_vec(fid, iov, count, dest, addr, key, context, true);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len,
			 void *desc, fi_addr_t dest, uint64_t addr,
			 uint64_t key, void *context)
{
	(void)desc;
	return rma_write_buf(fid, buf, len, 0, 0, dest, addr, key, context,
			     ep_of(fid)->tx_flags);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			    uint64_t flags)
{
	return rma_msg(fid, msg, flags, true);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len,
			  fi_addr_t dest, uint64_t addr, uint64_t key)
{
	return rma_write_buf(fid, buf, len, 0, 0, dest, addr, key, NULL,
			     FI_INJECT);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len,
			     void *desc, uint64_t data, fi_addr_t dest,
			     uint64_t addr, uint64_t key, void *context)
{
	(void)desc;
	return rma_write_buf(fid, buf, len, data, ROSM_RD_DATA, dest, addr,
			     key, context, ep_of(fid)->tx_flags);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len,
			      uint64_t data, fi_addr_t dest, uint64_t addr,
			      uint64_t key)
{
	return rma_write_buf(fid, buf, len, data, ROSM_RD_DATA, dest, addr,
			     key, NULL, FI_INJECT);
}

struct fi_ops_rma rfi_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
