/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoint of reliable datagrams. ep.c opens, binds and enables it; ep_rdm.c
 * has its peers and its progress; rdm_send.c, rdm_rndv.c and rdm_unexp.c the
 * data path that msg.c, tagged.c and rma.c call.
 *
 * rfi_ep.lock guards everything from `rd` on, the engine's endpoint included.
 * Functions that end in _locked expect it held.
 */
#ifndef RFI_EP_H
#define RFI_EP_H

#include <string.h>

#include "prov/cq.h"
#include "prov/rdm_match.h"
#include "prov/rfi.h"
#include "util/pool.h"

struct rfi_ep {
	struct fid_ep fid;
	struct rfi_domain *domain;
	struct rfi_av *av;
	struct rfi_cq *tx_cq;
	struct rfi_cq *rx_cq;
	struct rfi_cq_link tx_link;
	struct rfi_cq_link rx_link;	/* unless it is the same queue */
	struct ru_list av_link;
	uint64_t caps;
	/*
	 * Flags of calls without a flags argument, and what is added to those
	 * of calls with one. FI_COMPLETION in them says that a success is
	 * reported.
	 */
	uint64_t tx_flags;
	uint64_t tx_msg_flags;
	uint64_t rx_flags;
	uint64_t rx_msg_flags;
	uint64_t tx_op_flags;		/* of the attributes */
	uint64_t rx_op_flags;
	size_t inject_size;
	size_t min_multi_recv;
	bool tx_selective;
	bool rx_selective;
	bool has_src;
	uint8_t src[ROSM_NAME_BYTES];	/* a service to bind, or a name */

	struct rfi_lock lock;
	struct rosm_rd *rd;		/* NULL until enabled */
	struct rosm_channel *channel;
	struct rosm_rd_peer **peers;	/* by fi_addr_t; NULL: not met yet */
	uint64_t peer_count;
	struct rosm_rd_peer **dead;	/* by address; nothing comes from them */
	size_t dead_count;

	struct rfi_match tagged;
	struct rfi_match msg;
	struct ru_list claimed;		/* rfi_unexp.claim */
	struct ru_pool rx_pool;
	struct ru_pool tx_pool;
	struct ru_pool bounce_pool;
	struct ru_pool unexp_pool;	/* small payloads */
	struct ru_pool eager_pool;	/* up to eager_max */
	size_t eager_max;
	struct rfi_tx *tx_spare;
	/*
	 * The last progress found something: more may follow. A single message
	 * is handed on before the ring is looked at again.
	 */
	bool burst;
	uint64_t pending;		/* sends, pulls and RMAs under way */
};

/* A send or RMA that the engine has not finished. */
struct rfi_tx {
	void *context;
	uint64_t flags;			/* of the completion, FI_COMPLETION */
	size_t len;
	void *bounce;			/* copy of injected data */
};

/* A receive: posted, or its data under way. */
struct rfi_rx {
	struct rfi_match_recv match;
	void *context;
	uint64_t flags;			/* of the completion, FI_COMPLETION */
	size_t len;			/* of all iov */
	struct rfi_rx *multi;		/* the buffer this is a part of */
	/* of a multi-receive buffer: */
	size_t used;
	uint32_t parts;			/* under way */
	bool exhausted;			/* not posted any more */
	/* of data under way: */
	struct rosm_rd_peer *peer;
	uint64_t tag;
	uint64_t data;
	uint64_t msg_len;
	uint32_t iov_count;
	struct iovec iov[RFI_IOV_LIMIT];
};

/* A message without a receive. */
struct rfi_unexp {
	struct rfi_match_msg match;
	struct rosm_rd_event ev;	/* its payload points at data */
	struct ru_list claim;
	void *claim_context;
	struct ru_pool *pool;		/* NULL: malloc */
	uint8_t data[];
};

#define RFI_UNEXP_SMALL	256

/* ep.c */
int rfi_ep_open(struct fid_domain *domain, struct fi_info *info,
		struct fid_ep **ep, void *context);
extern struct fi_ops_cm rfi_cm_ops;
extern struct fi_ops_msg rfi_msg_ops;
extern struct fi_ops_tagged rfi_tagged_ops;
extern struct fi_ops_rma rfi_rma_ops;

/* ep_rdm.c */
int rfi_rdm_enable(struct rfi_ep *ep);
void rfi_rdm_disable(struct rfi_ep *ep);
/* Unless another thread is at it. */
void rfi_ep_progress(struct rfi_ep *ep);
/* How many events there were. */
int rfi_ep_progress_locked(struct rfi_ep *ep);
/* Make the channel ring at what comes next; what has come is handled. */
int rfi_ep_arm(struct rfi_ep *ep);
/* The address was removed from the vector. */
void rfi_ep_forget(struct rfi_ep *ep, fi_addr_t addr);
int rfi_ep_meet_locked(struct rfi_ep *ep, fi_addr_t addr,
		       struct rosm_rd_peer **peer_out);
/* From now on receives from it fail. */
void rfi_ep_dead_add_locked(struct rfi_ep *ep, struct rosm_rd_peer *peer);
bool rfi_ep_dead_locked(const struct rfi_ep *ep,
			const struct rosm_rd_peer *peer);
fi_addr_t rfi_ep_source_locked(struct rfi_ep *ep, struct rosm_rd_peer *peer);

/* -FI_EINVAL: no such address; -FI_EHOSTUNREACH: nobody serves it. */
static inline int rfi_ep_peer_locked(struct rfi_ep *ep, fi_addr_t addr,
				     struct rosm_rd_peer **peer_out)
{
	if (ru_likely(addr < ep->peer_count && ep->peers[addr])) {
		*peer_out = ep->peers[addr];
		return 0;
	}
	return rfi_ep_meet_locked(ep, addr, peer_out);
}

/* rdm_send.c */
ssize_t rfi_rdm_send(struct rfi_ep *ep, struct rosm_rd_msg *msg,
		     fi_addr_t dest, void *context, uint64_t flags);
ssize_t rfi_rdm_rma(struct rfi_ep *ep, struct rosm_rd_rma *rma, bool write,
		    fi_addr_t peer, uint64_t key, void *context,
		    uint64_t flags);
void rfi_rdm_sent_locked(struct rfi_ep *ep, struct rfi_tx *tx, int status);

/* rdm_rndv.c: from a message to its receive */
struct rfi_recv_args {
	const struct iovec *iov;
	size_t iov_count;
	fi_addr_t src;
	uint64_t tag;
	uint64_t ignore;
	void *context;
};

/* flags: FI_TAGGED or FI_MSG, FI_COMPLETION, FI_MULTI_RECV */
ssize_t rfi_rdm_recv(struct rfi_ep *ep, const struct rfi_recv_args *args,
		     uint64_t flags);
void rfi_rdm_arrived_locked(struct rfi_ep *ep, struct rosm_rd_event *ev);
void rfi_rdm_pulled_locked(struct rfi_ep *ep, struct rfi_rx *rx, int status);
void rfi_rdm_rma_data_locked(struct rfi_ep *ep, const struct rosm_rd_event *ev);
/* A receive for a message that was taken out of the unexpected ones. */
int rfi_rdm_recv_unexp_locked(struct rfi_ep *ep,
			      const struct rfi_recv_args *args, uint64_t flags,
			      struct rfi_unexp *u);
ssize_t rfi_rdm_cancel(struct rfi_ep *ep, void *context);
void rfi_rdm_peer_dead_locked(struct rfi_ep *ep, struct rosm_rd_peer *peer);
/* Which source a receive asks for. */
int rfi_rdm_src_locked(struct rfi_ep *ep, fi_addr_t addr, uint64_t *src_out);

static inline struct rfi_match *rfi_ep_match(struct rfi_ep *ep, uint64_t flags)
{
	return flags & FI_TAGGED ? &ep->tagged : &ep->msg;
}

/* rdm_unexp.c */
void rfi_unexp_keep_locked(struct rfi_ep *ep, const struct rosm_rd_event *ev);
/* Oldest one that such a receive takes, taken out. Or NULL. */
struct rfi_unexp *rfi_unexp_take_locked(struct rfi_ep *ep, struct rfi_match *m,
					uint64_t src, uint64_t tag,
					uint64_t ignore);
void rfi_unexp_free_locked(struct rfi_ep *ep, struct rfi_unexp *u);
/* FI_PEEK and FI_CLAIM with what may go with them. */
ssize_t rfi_unexp_peek(struct rfi_ep *ep, const struct rfi_recv_args *args,
		       uint64_t flags);
ssize_t rfi_unexp_claim(struct rfi_ep *ep, const struct rfi_recv_args *args,
			uint64_t flags);
/* Tells the senders of all that is left. */
void rfi_unexp_drop_all_locked(struct rfi_ep *ep);

#endif
