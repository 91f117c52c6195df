/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A transfer that two processes carry out together: the payload's source and
 * sink, and where its answer goes. It lies in the read-write segment of the
 * process that asked, so the answer has its space before the request is
 * published. Used by RD rendezvous and, where CMA is not possible or slower,
 * by RC data too.
 *
 * Two ways: pull/push by one side alone (CMA), or bounce: the source side
 * copies into chunks of the ring below, the sink side copies out. produced and
 * consumed are bytes ever; each is written by one side only.
 */
#ifndef ROSM_WIRE_XFER_H
#define ROSM_WIRE_XFER_H

#include "engine/wire/common.h"

#define ROSM_XFER_IOV	8u

enum rosm_xfer_state {
	ROSM_XFER_FREE = 0,
	ROSM_XFER_OPEN = 1,	/* published, nobody answered yet */
	ROSM_XFER_BOUNCE = 2,	/* the other side asks for chunks */
	ROSM_XFER_DONE = 3,	/* answered: status is valid */
};

/*
 *  line 0: asker writes before publication
 *  line 1: state: asker 0 -> OPEN and -> FREE; other OPEN -> BOUNCE, DONE
 *  line 2: produced (source side), line 3: consumed (sink side)
 *  then iov of the asker's memory
 */
struct rosm_wire_xfer {
	uint64_t len;			/* bytes */
	uint64_t remote_addr;		/* RMA: target address */
	uint32_t rkey;
	uint32_t iov_count;
	uint32_t seq;			/* tells uses of the same block apart */
	uint32_t ring_bytes;		/* bounce ring, power of two */
	uint64_t ring_off;		/* rw segment of the asker */
	uint32_t is_read;		/* RMA read: the asker is the sink */
	uint32_t pad;
	uint8_t pad0[16];

	_Atomic uint32_t state;
	_Atomic uint32_t status;	/* enum rosm_wc_status, with DONE */
	uint8_t pad1[56];

	_Atomic uint64_t produced;
	uint8_t pad2[56];

	_Atomic uint64_t consumed;
	uint8_t pad3[56];

	struct {
		uint64_t addr;
		uint64_t len;
	} iov[ROSM_XFER_IOV];
};

static_assert(offsetof(struct rosm_wire_xfer, state) == 64, "line 1");
static_assert(offsetof(struct rosm_wire_xfer, produced) == 128, "line 2");
static_assert(offsetof(struct rosm_wire_xfer, consumed) == 192, "line 3");
static_assert(sizeof(struct rosm_wire_xfer) == 384, "layout");

#endif
