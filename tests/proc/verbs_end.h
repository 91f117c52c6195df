/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a connection for the tests of the verbs face: a device, a buffer
 * and an RC queue pair, all through <infiniband/verbs.h>. Whatever fails ends
 * the calling process like a failed CHECK.
 */
#ifndef TESTS_PROC_VERBS_END_H
#define TESTS_PROC_VERBS_END_H

#include <stdint.h>
#include <infiniband/verbs.h>

#include "tests/lib/mp.h"

enum { END_DEPTH = 16, END_SGE = 4, END_INLINE = 64, END_POLL_S = 10 };

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *qpx;		/* NULL unless asked for */
	struct ibv_mr *mr;
	uint8_t *buf;
	size_t size;
	/* Of the other end, once connected. */
	uint64_t peer_addr;
	uint32_t peer_rkey;
	uint32_t peer_qpn;
};

enum end_flags {
	END_CHANNEL = 1,	/* the CQ has a completion channel */
	END_WR = 2,		/* the QP has ibv_wr_* */
	END_SIG_ALL = 4,
};

/* Our device of this process; the list is gone when it returns. */
struct ibv_context *end_device(void);

/* Device, PD, CQ, buffer, MR with all rights, QP in RESET. */
void end_open(struct end *e, size_t size, unsigned int flags);
void end_close(struct end *e);

/* RESET to INIT to RTR to RTS. */
void end_to_init(struct end *e);
void end_to_rtr(struct end *e, uint32_t dest_qpn, uint16_t dlid);
void end_to_rts(struct end *e);

/* Both ends of two workers go to RTS; returns when both are. */
void end_connect(struct end *e, struct mp *mp, int peer);

/* Within END_POLL_S there is a completion. */
void end_poll(struct end *e, struct ibv_wc *wc);
/* ... a good one. */
void end_poll_good(struct end *e, uint64_t wr_id, enum ibv_wc_opcode opcode);

/* Bytes of buf, from offset; wr_id is given back in the completion. */
void end_recv(struct end *e, uint64_t wr_id, size_t offset, uint32_t len);
int end_try_recv(struct end *e, uint64_t wr_id, size_t offset, uint32_t len);
/* opcode of buf + offset to the same offset of the peer; signaled. */
void end_post(struct end *e, uint64_t wr_id, enum ibv_wr_opcode opcode,
	      size_t offset, uint32_t len, uint32_t imm, unsigned int flags);

#endif
