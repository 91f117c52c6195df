/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue pair as its peers see it: a descriptor and its receive and stalled
 * send WQEs in the owner's read-only segment; a control block that executors
 * write in the owner's read-write segment. docs/shm-layout.md, docs/qp-states.md.
 */
#ifndef ROSM_WIRE_QP_H
#define ROSM_WIRE_QP_H

#include "engine/wire/common.h"

#define ROSM_WIRE_QPS		(1u << 16)

/*
 * Descriptor; written by the owner only.
 *  line 0: seldom written. gen grows at each create and RESET; state is read
 *    by an executor after it has named the QP in its hazard line.
 *  line 1: rq_posted, count of RECVs ever posted (mod 2^32), release
 *  line 2: the stalled part of the send queue: WQEs sq_first.. sq_posted-1
 */
struct rosm_wire_qp {
	_Atomic uint32_t qpn;		/* 0: no QP here */
	_Atomic uint32_t gen;
	_Atomic uint32_t state;		/* enum rosm_qp_state + 1 */
	_Atomic uint32_t type;		/* enum rosm_qp_type */
	_Atomic uint64_t dest_who;	/* instance of the peer QP, 0 unknown */
	_Atomic uint32_t dest_qpn;
	_Atomic uint32_t pd;
	_Atomic uint32_t access;	/* enum rosm_access of the QP */
	_Atomic uint32_t rnr_timer;	/* min_rnr_timer code */
	_Atomic uint64_t ring_off;	/* arrival ring of its recv CQ (rw) */
	_Atomic uint64_t rq_off;	/* struct rosm_wire_recv[] (ro) */
	_Atomic uint32_t rq_mask;	/* entries - 1 */
	_Atomic uint32_t rq_stride;	/* bytes */

	_Atomic uint32_t rq_posted;
	uint32_t pad0;
	_Atomic uint64_t sum_off;	/* uint32_t[]: RECV lengths (ro) */
	_Atomic uint32_t rd_atomic;	/* max_dest_rd_atomic */
	_Atomic uint32_t mtu;		/* path_mtu, bytes */
	_Atomic uint32_t async_bell;	/* of its context, +1 */
	uint8_t pad1[36];

	_Atomic uint64_t sq_off;	/* struct rosm_wire_wqe[] (ro) */
	_Atomic uint64_t sqst_off;	/* _Atomic uint32_t status[] (rw) */
	_Atomic uint32_t sq_mask;
	_Atomic uint32_t sq_stride;
	_Atomic uint32_t sq_posted;
	_Atomic uint32_t stalled;	/* 1: the send queue waits */
	_Atomic uint64_t send_ring_off;	/* ring of its send CQ: armed, fired */
	uint8_t pad2[24];
	uint8_t pad3[64];
};

static_assert(sizeof(struct rosm_wire_qp) == 256, "layout");
static_assert(offsetof(struct rosm_wire_qp, rq_posted) == 64, "line 1");
static_assert(offsetof(struct rosm_wire_qp, sq_off) == 128, "line 2");

/*
 * Control block, same index, read-write segment.
 *  line 0: executor = who runs the stalled WQEs, 0 nobody; sq_done = WQEs done
 *    (index of the next to run); rq_taken = RECVs of the peer consumed so far
 *  line 1: nak = first error status that a peer found against this QP
 *    (enum rosm_wc_status + 1); the owner moves to ERR and raises the event
 */
struct rosm_wire_qpctl {
	_Atomic uint64_t executor;
	_Atomic uint32_t sq_done;
	_Atomic uint32_t rq_taken;
	_Atomic uint64_t xfer_off;	/* rw: struct rosm_wire_xfer, or 0 */
	_Atomic uint32_t msgs;		/* arrivals published at the peer */
	uint32_t pad;
	uint8_t pad0[32];

	_Atomic uint32_t nak;
	_Atomic uint32_t nak_gen;	/* descriptor gen the nak is meant for */
	uint8_t pad1[56];
};

static_assert(sizeof(struct rosm_wire_qpctl) == 128, "layout");

struct rosm_wire_sge {
	uint64_t addr;
	uint32_t len;
	uint32_t lkey;
};

static_assert(sizeof(struct rosm_wire_sge) == 16, "layout");

/*
 * A posted RECV: sge[num_sge], with the total in the summary array as
 * (bytes, at most 2^31) | 1 << 31 when the owner found the keys and ranges
 * good at the post.
 */
struct rosm_wire_recv {
	uint32_t num_sge;
	uint32_t len;
	uint64_t reserved;
	struct rosm_wire_sge sge[];
};

static_assert(sizeof(struct rosm_wire_recv) == 16, "layout");

#define ROSM_WIRE_SUM_GOOD	(1u << 31)

/* A send WQE that could not run at once. */
struct rosm_wire_wqe {
	uint8_t opcode;			/* enum rosm_wr_opcode */
	uint8_t num_sge;
	uint16_t flags;			/* enum rosm_send_flag */
	uint32_t imm;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t len;			/* total bytes */
	uint32_t inline_len;		/* payload follows instead of sge[] */
	uint32_t pad;
	struct rosm_wire_sge sge[];
};

static_assert(sizeof(struct rosm_wire_wqe) == 32, "layout");

/* status[] of a stalled WQE: 0 not done, else enum rosm_wc_status + 1 */

#endif
