/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sends, reads and writes. What the engine finishes inside the call, small
 * messages above all, needs no record: the completion entry is pushed at once
 * if one is wanted. The rest keeps a struct rfi_tx until its event.
 *
 * Errors of the data path become error completions when the program wants a
 * completion of the operation; otherwise they are what the call returns.
 */
#include <config.h>

#include "prov/ep.h"

#include "util/copy.h"

#define ENTRY_FLAGS	(FI_MSG | FI_TAGGED | FI_RMA | FI_SEND | FI_READ | \
			 FI_WRITE)
#define ACK_FLAGS	(FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

/* ---- completions ---------------------------------------------------- */

static void tx_complete(struct rfi_ep *ep, void *context, uint64_t flags,
			int status)
{
	struct rfi_cq_entry entry = {
		.e.op_context = context,
		.e.flags = flags & ENTRY_FLAGS,
		.src = FI_ADDR_NOTAVAIL,
	};

	if (ru_unlikely(status)) {
		entry.olen = 0;
		entry.err = -status;
		entry.prov_errno = -status;
	} else if (!(flags & FI_COMPLETION)) {
		return;
	}
	rfi_cq_put(ep->tx_cq, &entry);
}

/* What the call returns for an operation that failed at once. */
static ssize_t tx_failed(struct rfi_ep *ep, void *context, uint64_t flags,
			 int ret)
{
	if (ret == -EAGAIN || ret == -EINVAL || ret == -ENOMEM ||
	    !(flags & FI_COMPLETION))
		return ret;
	tx_complete(ep, context, flags, ret);
	return 0;
}

void rfi_rdm_sent_locked(struct rfi_ep *ep, struct rfi_tx *tx, int status)
{
	tx_complete(ep, tx->context, tx->flags, status);
	if (tx->bounce)
		ru_pool_put(&ep->bounce_pool, tx->bounce);
	ru_pool_put(&ep->tx_pool, tx);
	ep->pending--;
}

/* A record in case the engine needs one; it stays spare if not. */
static inline struct rfi_tx *tx_spare_locked(struct rfi_ep *ep)
{
	if (ru_unlikely(!ep->tx_spare))
		ep->tx_spare = ru_pool_get(&ep->tx_pool);
	return ep->tx_spare;
}

static void tx_pend_locked(struct rfi_ep *ep, void *context, uint64_t flags,
			   void *bounce)
{
	struct rfi_tx *tx = ep->tx_spare;

	tx->context = context;
	tx->flags = flags;
	tx->bounce = bounce;
	ep->tx_spare = NULL;
	ep->pending++;
}

/* The engine may read the data after the call: a copy, if it is injected. */
static void *bounce_locked(struct rfi_ep *ep, const struct iovec *iov,
			   size_t iov_count, struct iovec *iov_out)
{
	void *bounce = ru_pool_get(&ep->bounce_pool);

	if (!bounce)
		return NULL;
	iov_out->iov_base = bounce;
	iov_out->iov_len = ru_copy_from_iov(bounce, iov, iov_count, 0,
					    ep->inject_size);
	return bounce;
}

/* ---- messages ------------------------------------------------------- */

static int send_try_locked(struct rfi_ep *ep, struct rosm_rd_msg *msg,
			   struct rosm_rd_peer *peer)
{
	msg->context = tx_spare_locked(ep);
	if (ru_unlikely(!msg->context))
		return -EAGAIN;
	return rosm_rd_send(ep->rd, peer, msg);
}

/* Injected, but the peer takes only less at once. */
static int send_bounced_locked(struct rfi_ep *ep, struct rosm_rd_msg *msg,
			       struct rosm_rd_peer *peer, void **bounce_out)
{
	struct iovec iov;
	int ret;

	*bounce_out = bounce_locked(ep, msg->iov, msg->iov_count, &iov);
	if (!*bounce_out)
		return -EAGAIN;
	msg->iov = &iov;
	msg->iov_count = 1;
	msg->flags &= ~(uint32_t)ROSM_RD_WHOLE;
	ret = send_try_locked(ep, msg, peer);
	if (ret != ROSM_RD_PENDING) {
		ru_pool_put(&ep->bounce_pool, *bounce_out);
		*bounce_out = NULL;
	}
	return ret;
}

static ssize_t send_locked(struct rfi_ep *ep, struct rosm_rd_msg *msg,
			   fi_addr_t dest, void *context, uint64_t flags)
{
	struct rosm_rd_peer *peer;
	void *bounce = NULL;
	int ret;

	ret = rfi_ep_peer_locked(ep, dest, &peer);
	if (ru_likely(!ret))
		ret = send_try_locked(ep, msg, peer);
	if (ru_unlikely(ret == -EAGAIN)) {
		/* The peer may wait for our ring: read it, try once more. */
		rfi_ep_progress_locked(ep);
		ret = send_try_locked(ep, msg, peer);
	}
	if (ru_unlikely(ret == -EMSGSIZE))
		ret = send_bounced_locked(ep, msg, peer, &bounce);
	if (ru_likely(!ret)) {
		if (flags & FI_COMPLETION)
			tx_complete(ep, context, flags, 0);
		return 0;
	}
	if (ret != ROSM_RD_PENDING)
		return tx_failed(ep, context, flags, ret);
	tx_pend_locked(ep, context, flags, bounce);
	return 0;
}

static inline size_t msg_len(const struct rosm_rd_msg *msg)
{
	return msg->iov_count == 1 ? msg->iov[0].iov_len :
				     ru_iov_len(msg->iov, msg->iov_count);
}

ssize_t rfi_rdm_send(struct rfi_ep *ep, struct rosm_rd_msg *msg,
		     fi_addr_t dest, void *context, uint64_t flags)
{
	ssize_t ret;

	if (ru_unlikely(flags & ACK_FLAGS))
		msg->flags |= ROSM_RD_ACK;
	if (flags & FI_INJECT) {
		if (ru_unlikely(msg_len(msg) > ep->inject_size))
			return -FI_EMSGSIZE;
		msg->flags |= ROSM_RD_WHOLE;
	}
	rfi_lock_acquire(&ep->lock);
	ret = send_locked(ep, msg, dest, context, flags | FI_SEND);
	rfi_lock_release(&ep->lock);
	return ret;
}

/* ---- reads and writes ----------------------------------------------- */

static int rma_try_locked(struct rfi_ep *ep, struct rosm_rd_rma *rma,
			  bool write, struct rosm_rd_peer *peer)
{
	rma->context = tx_spare_locked(ep);
	if (!rma->context)
		return -EAGAIN;
	return write ? rosm_rd_write(ep->rd, peer, rma) :
		       rosm_rd_read(ep->rd, peer, rma);
}

static ssize_t rma_locked(struct rfi_ep *ep, struct rosm_rd_rma *rma,
			  bool write, fi_addr_t dest, void *context,
			  uint64_t flags, void *bounce)
{
	struct rosm_rd_peer *peer;
	int ret;

	ret = rfi_ep_peer_locked(ep, dest, &peer);
	if (ru_likely(!ret))
		ret = rma_try_locked(ep, rma, write, peer);
	if (ru_unlikely(ret == -EAGAIN)) {
		rfi_ep_progress_locked(ep);
		ret = rma_try_locked(ep, rma, write, peer);
	}
	if (ret == ROSM_RD_PENDING) {
		tx_pend_locked(ep, context, flags, bounce);
		return 0;
	}
	if (bounce)
		ru_pool_put(&ep->bounce_pool, bounce);
	if (ru_unlikely(ret))
		return tx_failed(ep, context, flags, ret);
	if (flags & FI_COMPLETION)
		tx_complete(ep, context, flags, 0);
	return 0;
}

ssize_t rfi_rdm_rma(struct rfi_ep *ep, struct rosm_rd_rma *rma, bool write,
		    fi_addr_t peer, uint64_t key, void *context, uint64_t flags)
{
	void *bounce = NULL;
	struct iovec iov;
	ssize_t ret;

	flags |= FI_RMA | (write ? FI_WRITE : FI_READ);
	if (flags & FI_INJECT &&
	    ru_iov_len(rma->iov, rma->iov_count) > ep->inject_size)
		return -FI_EMSGSIZE;
	rma->rkey = (uint32_t)key;
	rfi_lock_acquire(&ep->lock);
	if (ru_unlikely(key > UINT32_MAX)) {
		ret = tx_failed(ep, context, flags, -FI_ENOKEY);
		goto unlock;
	}
	if (flags & FI_INJECT) {
		bounce = bounce_locked(ep, rma->iov, rma->iov_count, &iov);
		if (!bounce) {
			ret = -FI_EAGAIN;
			goto unlock;
		}
		rma->iov = &iov;
		rma->iov_count = 1;
	}
	ret = rma_locked(ep, rma, write, peer, context, flags, bounce);
unlock:
	rfi_lock_release(&ep->lock);
	return ret;
}
