/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Heads of an instance's two segments and the fixed tables behind them.
 * Both are memfds of fixed size, sealed against shrinking and growing; peers
 * cannot map the second one writable (F_SEAL_FUTURE_WRITE).
 */
#ifndef ROSM_WIRE_SEGMENT_H
#define ROSM_WIRE_SEGMENT_H

#include "engine/wire/common.h"
#include "engine/wire/directory.h"
#include "engine/wire/mr.h"
#include "engine/wire/qp.h"

#define ROSM_WIRE_HAZARDS	64u
#define ROSM_WIRE_BELLS		256u
#define ROSM_WIRE_PEERS		1024u
#define ROSM_WIRE_STALL_WORDS	(ROSM_WIRE_QPS / 64)

/*
 * A thread of this instance that touches somebody's memory or QP says so here
 * first; 0: nothing. A key of ROSM_HAZARD_ALL means every region of that owner
 * (a list with several keys). Written by the owner, read by whoever
 * deregisters or destroys.
 */
#define ROSM_HAZARD_ALL	0xffffffffu

struct rosm_wire_hazard {
	_Atomic uint64_t owner;		/* who of the owner of mr/qp */
	_Atomic uint64_t mr;		/* 1 << 32 | rkey of owner */
	_Atomic uint64_t mr2;		/* 1 << 32 | lkey, same instance or own */
	_Atomic uint64_t qp;		/* 1 << 32 | QP index of owner */
	_Atomic uint64_t owner2;	/* who of the owner of mr2 */
	_Atomic uint64_t uses;		/* grows when the line is cleared */
	uint8_t pad[16];
};

static_assert(sizeof(struct rosm_wire_hazard) == 64, "one line");

/* Bytes and operations with one peer, by mover; owner writes, relaxed. */
enum rosm_mover {
	ROSM_MOVER_INLINE = 0,
	ROSM_MOVER_CHUNK = 1,	/* through the receiver's chunk */
	ROSM_MOVER_BOUNCE = 2,	/* pipelined through a bounce ring */
	ROSM_MOVER_CMA = 3,
	ROSM_MOVER_SELF = 4,	/* within one process */
	ROSM_MOVERS
};

static_assert(ROSM_MOVERS == ROSM_DIR_MOVERS, "directory totals");

struct rosm_wire_stat {
	_Atomic uint64_t who;		/* peer, 0: unused */
	_Atomic uint64_t pid;
	_Atomic uint64_t tx_bytes[ROSM_MOVERS];
	_Atomic uint64_t tx_ops[ROSM_MOVERS];
	_Atomic uint64_t rx_bytes[ROSM_MOVERS];
	_Atomic uint64_t rx_ops[ROSM_MOVERS];
	uint64_t reserved[2];
};

static_assert(sizeof(struct rosm_wire_stat) == 192, "layout");

/*
 * Read-only segment.
 *  line 0: identity; checked once by a peer when it maps
 *  line 1: mr_epoch - grows at each deregistration; a sender that has cached
 *    what it knows of this instance's RECVs looks again when it changed
 *  then tables at the fixed offsets below, committed by the owner as they fill
 */
struct rosm_wire_ro {
	_Atomic uint64_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t membarrier;	/* 1: registered GLOBAL_EXPEDITED */
	_Atomic uint64_t size;
	_Atomic uint64_t who;
	_Atomic uint32_t pid;
	_Atomic uint32_t hazards;	/* lines in use, from the start */
	_Atomic uint32_t qps;		/* QP table entries ever used */
	_Atomic uint32_t mrs;
	uint8_t pad0[16];

	_Atomic uint64_t mr_epoch;
	uint8_t pad1[56];

	/* doorbells: fd number + 1 of the pipe of a channel or context */
	_Atomic uint32_t bell_fd[ROSM_WIRE_BELLS];
	_Atomic uint64_t bell_ino[ROSM_WIRE_BELLS];

	/* QPs whose send queue waits, by index */
	_Atomic uint64_t stalled[ROSM_WIRE_STALL_WORDS];
};

static_assert(offsetof(struct rosm_wire_ro, mr_epoch) == 64, "line 1");

#define ROSM_RO_HAZARD_OFF	16384u
#define ROSM_RO_STAT_OFF	(ROSM_RO_HAZARD_OFF + ROSM_WIRE_HAZARDS * 64u)
#define ROSM_RO_QP_OFF		(1u << 20)
#define ROSM_RO_MR_OFF		(ROSM_RO_QP_OFF + ROSM_WIRE_QPS * 256u)
#define ROSM_RO_HEAP_OFF	(ROSM_RO_MR_OFF + ROSM_WIRE_MRS * 64u)

static_assert(sizeof(struct rosm_wire_ro) <= ROSM_RO_HAZARD_OFF, "head fits");
static_assert(ROSM_RO_STAT_OFF + ROSM_WIRE_PEERS * 192u <= ROSM_RO_QP_OFF,
	      "statistics fit");

/*
 * Read-write segment.
 *  line 0: identity
 *  line 1: attn_sum - bit i set when word group i of attn has a bit (group =
 *    slot / 64): that instance has something that this one's calls must serve.
 *    Waiters set the attn bit first, then the summary bit; the owner clears in
 *    the other order and looks after clearing.
 *  answers - grows when an xfer of this instance was answered
 *  then QP control blocks and the heap
 */
struct rosm_wire_rw {
	_Atomic uint64_t magic;
	_Atomic uint32_t version;
	uint32_t pad;
	_Atomic uint64_t size;
	_Atomic uint64_t who;
	uint8_t pad0[32];

	_Atomic uint64_t attn_sum;
	_Atomic uint64_t answers;
	_Atomic uint64_t naks;		/* grows when a qpctl.nak was set */
	uint8_t pad1[40];

	_Atomic uint64_t attn[ROSM_WIRE_INSTANCES / 64];

	/*
	 * By slot: that instance has mapped this one. Set before it reads
	 * anything here, never cleared (a slot that lives is looked at once
	 * more than needed): whose hazard lines a drain has to look at.
	 */
	_Atomic uint64_t mapped[ROSM_WIRE_INSTANCES / 64];
};

static_assert(ROSM_WIRE_INSTANCES / 64 == 64, "one summary word");
static_assert(sizeof(struct rosm_wire_rw) <= 4096, "before the QP controls");
static_assert(offsetof(struct rosm_wire_rw, attn_sum) == 64, "line 1");

#define ROSM_RW_QPCTL_OFF	4096u
#define ROSM_RW_HEAP_OFF	(ROSM_RW_QPCTL_OFF + ROSM_WIRE_QPS * 128u)

#endif
