/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of an RC connection for tests on the engine's own calls: context,
 * PD, CQ, QP, one registered buffer. rcpair_connect() exchanges what programs
 * exchange and brings the QP to RTS.
 */
#ifndef TESTS_PROC_RCPAIR_H
#define TESTS_PROC_RCPAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/rosm.h"
#include "tests/lib/mp.h"

enum { RC_BUF_BYTES = 4 << 20, RC_DEPTH = 256 };

struct rcpair {
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
	struct rosm_channel *channel;
	struct rosm_cq *cq;
	struct rosm_qp *qp;
	struct rosm_mr *mr;
	uint8_t *buf;
	struct {
		uint32_t qpn;
		uint32_t rkey;
		uint64_t addr;
	} other;
};

struct rcpair_how {
	uint32_t rnr_retry;	/* 0..7 */
	uint32_t timeout;	/* code */
	uint32_t access;	/* of the QP; 0: all */
	uint32_t max_dest_rd_atomic_off;	/* 1: none */
	uint32_t cqe;
	uint32_t inline_data;
	uint16_t dlid;		/* of the other; 0: this node's */
	bool sig_all_off;
};

void rcpair_open(struct rcpair *p, const struct rcpair_how *how);
/* RESET -> RTS towards qpn. */
void rcpair_to_rts(struct rcpair *p, uint32_t qpn,
		   const struct rcpair_how *how);
/* open, exchange with rank `peer` through mp, to RTS, barrier by exchange. */
void rcpair_connect(struct rcpair *p, struct mp *mp, int peer,
		    const struct rcpair_how *how);
void rcpair_close(struct rcpair *p);

/* Post to or from buf + off; wr_id as given. Results are checked to be 0. */
void rcpair_send(struct rcpair *p, uint64_t wr_id, uint32_t off, uint32_t len,
		 uint32_t flags);
void rcpair_recv(struct rcpair *p, uint64_t wr_id, uint32_t off, uint32_t len);
void rcpair_rdma(struct rcpair *p, enum rosm_wr_opcode op, uint64_t wr_id,
		 uint32_t off, uint32_t len, uint32_t remote_off, uint32_t imm);

/* Poll until one completion, at most ms; false when none came. */
bool rcpair_poll(struct rcpair *p, struct rosm_wc *wc, int ms);
/* Poll one and check wr_id and status. */
void rcpair_expect(struct rcpair *p, uint64_t wr_id,
		   enum rosm_wc_status status);

/* A pattern that depends on seed and place; check says where it differs. */
void pattern_fill(uint8_t *buf, uint32_t len, uint32_t seed);
void pattern_check(const uint8_t *buf, uint32_t len, uint32_t seed);

#endif
