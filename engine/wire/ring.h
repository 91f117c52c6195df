/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arrival ring: what other processes complete into. It lies in the
 * consumer's read-write segment; any process of the node may produce.
 *
 * Claiming leaves no hole with an unknown owner: a producer CASes the slot
 * word FREE(lap) -> CLAIMED(lap, who), fills the slot, then stores PUBLISHED.
 * Claims are dense: a position is claimed only when every earlier one has been
 * seen not FREE, so a QP's messages lie in the order of their claims whoever
 * made them. If the writer stops between claim and publish, the consumer
 * passes over the slot and, once the claimant's death is proven, stores
 * SKIPPED (docs/death.md).
 */
#ifndef ROSM_WIRE_RING_H
#define ROSM_WIRE_RING_H

#include "engine/wire/common.h"

/*
 * Slot word: lap (22 bits) << 42 | state (2 bits) << 40 | who (40 bits).
 * A zeroed ring is FREE(lap 0) everywhere.
 */
enum rosm_slot_state {
	ROSM_SLOT_FREE = 0,
	ROSM_SLOT_CLAIMED = 1,
	ROSM_SLOT_PUBLISHED = 2,
	ROSM_SLOT_TAKEN = 3,	/* someone is copying its payload out */
};

#define ROSM_SLOT_LAP_MASK	((1u << 22) - 1)

static inline uint64_t rosm_slot_word(uint64_t lap, enum rosm_slot_state s,
				      uint64_t who)
{
	return (lap & ROSM_SLOT_LAP_MASK) << 42 | (uint64_t)s << 40 | who;
}

static inline enum rosm_slot_state rosm_slot_word_state(uint64_t word)
{
	return (enum rosm_slot_state)(word >> 40 & 3);
}

static inline uint32_t rosm_slot_word_lap(uint64_t word)
{
	return (uint32_t)(word >> 42);
}

static inline uint64_t rosm_slot_word_who(uint64_t word)
{
	return word & ROSM_WIRE_WHO_MASK;
}

/* What a slot announces. */
enum rosm_slot_kind {
	ROSM_SLOT_NONE = 0,	/* given back by its producer: pass over it */
	ROSM_SLOT_SEND = 1,	/* RC: consumes a RECV */
	ROSM_SLOT_WRITE_IMM = 2,	/* RC: consumes a RECV, no payload */
	ROSM_SLOT_RECV_ERR = 3,	/* RC: consumes a RECV with status */
	ROSM_SLOT_RD_MSG = 4,	/* RD: payload is here or in the chunk */
	ROSM_SLOT_RD_RTS = 5,	/* RD: payload is to be pulled (xfer) */
	ROSM_SLOT_RD_RMA = 6,	/* RD: remote CQ data of a finished RMA */
	ROSM_SLOT_RD_ASK = 7,	/* RD: RMA that the target must carry out */
	ROSM_SLOT_KINDS
};

enum rosm_slot_flag {
	ROSM_SLOT_F_IMM = 1 << 0,
	ROSM_SLOT_F_SOLICITED = 1 << 1,
	ROSM_SLOT_F_CHUNK = 1 << 2,	/* payload in chunk[pos % chunks] */
	ROSM_SLOT_F_INLINE = 1 << 3,	/* payload in the slot */
	ROSM_SLOT_F_DATA = 1 << 4,	/* RD: data is valid */
	ROSM_SLOT_F_MSG = 1 << 5,	/* RD: FI_MSG rather than tagged */
	ROSM_SLOT_F_ACK = 1 << 6,	/* RD: xfer is set, answer when matched */
};

/*
 *  offset field     RC use                       RD use
 *  0      word      slot word
 *  8      qpn       destination QPN
 *  12     kind      enum rosm_slot_kind
 *  13     flags     enum rosm_slot_flag
 *  14     status    of RECV_ERR                  op (face's own)
 *  15     reserved
 *  16     src_qpn   sender's QPN
 *  20     len32     message bytes, < 2^31        bytes in slot or chunk
 *  24     imm       immediate, network order     -
 *  24     tag       -                            tag
 *  32     data      payload from here            remote CQ data
 *  40     xfer      -                            seq << 32 | offset / 64 of the
 *                                               block in the sender's rw
 *  40/48  payload   inline payload: RC from 32, RD from 48
 *
 * So 32 bytes of an RC Send and 16 of an RD one share the first line.
 */
struct rosm_wire_slot {
	_Atomic uint64_t word;
	uint32_t qpn;
	uint8_t kind;
	uint8_t flags;
	uint8_t status;
	uint8_t reserved;
	uint32_t src_qpn;
	uint32_t len32;
	union {
		struct {
			uint32_t imm;
			uint32_t recv_index;	/* RECVs consumed before it */
			uint8_t payload[96];
		} rc;
		struct {
			uint64_t tag;
			uint64_t data;
			uint64_t xfer;
			uint8_t payload[80];
		} rd;
	};
};

static_assert(sizeof(struct rosm_wire_slot) == 128, "two lines");
static_assert(offsetof(struct rosm_wire_slot, rc.payload) == 32, "layout");
static_assert(offsetof(struct rosm_wire_slot, rd.payload) == 48, "layout");

#define ROSM_SLOT_RC_INLINE	96u
#define ROSM_SLOT_RD_INLINE	80u

/*
 *  line 0 (consumer writes, at creation only)
 *    slots   number of slots, a power of two
 *    chunks  number of payload chunks, a power of two <= slots, or 0
 *    chunk_bytes, slot_off, chunk_off: offsets in the same segment
 *  line 1 (producers write): tail_hint, never beyond the first FREE position
 *  line 2 (consumer writes): head, every position before it is free again;
 *    lags behind by at most slots / 4
 *  line 3: armed - consumer stores 1 any, 2 solicited only; a producer CASes
 *    it to 0, then sets fired and rings the doorbell
 */
struct rosm_wire_ring {
	uint32_t slots;
	uint32_t chunks;
	uint32_t chunk_bytes;
	uint32_t bell;			/* doorbell index of the owner, +1 */
	uint64_t slot_off;
	uint64_t chunk_off;
	uint8_t pad0[32];

	_Atomic uint64_t tail_hint;
	uint8_t pad1[56];

	_Atomic uint64_t head;
	uint8_t pad2[56];

	_Atomic uint32_t armed;
	_Atomic uint32_t fired;
	uint8_t pad3[56];
};

static_assert(sizeof(struct rosm_wire_ring) == 256, "four lines");
static_assert(offsetof(struct rosm_wire_ring, tail_hint) == 64, "line 1");
static_assert(offsetof(struct rosm_wire_ring, head) == 128, "line 2");
static_assert(offsetof(struct rosm_wire_ring, armed) == 192, "line 3");

#endif
