/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moving payload between this process and a peer, by one side alone. At least
 * one end is in this address space; iovecs are in their owners' addresses.
 */
#ifndef ROSM_MOVE_MOVE_H
#define ROSM_MOVE_MOVE_H

#include <sys/uio.h>

#include "engine/peer.h"

/* One end of a copy. */
struct rosm_end {
	struct rosm_peer *peer;
	const struct iovec *iov;
	uint32_t iov_count;
};

enum rosm_move_fault { ROSM_FAULT_NONE = 0, ROSM_FAULT_SRC, ROSM_FAULT_DST };

/*
 * Copy len bytes (both ends hold at least that many), ascending, the last
 * bytes last. 0; -EOPNOTSUPP: this process cannot reach the peer's memory
 * (the pair's verdict is kept); -EFAULT with *fault_out: that end's memory is
 * not mapped; -ESRCH: the peer is dead.
 */
int rosm_move(const struct rosm_end *src, const struct rosm_end *dst,
	      uint64_t len, enum rosm_move_fault *fault_out);

/* Whether rosm_move between this process and the peer may work. */
bool rosm_move_can_read(struct rosm_peer *peer);
bool rosm_move_can_write(struct rosm_peer *peer);

/* Count what moved, in our line for the peer; relaxed. */
static inline void rosm_move_count(struct rosm_peer *peer,
				   enum rosm_mover mover, bool tx,
				   uint64_t bytes)
{
	_Atomic uint64_t *b = tx ? &peer->stat->tx_bytes[mover] :
				   &peer->stat->rx_bytes[mover];
	_Atomic uint64_t *o = tx ? &peer->stat->tx_ops[mover] :
				   &peer->stat->rx_ops[mover];

	atomic_store_explicit(b, atomic_load_explicit(b, memory_order_relaxed) +
				 bytes, memory_order_relaxed);
	atomic_store_explicit(o, atomic_load_explicit(o, memory_order_relaxed) +
				 1, memory_order_relaxed);
}

#endif
