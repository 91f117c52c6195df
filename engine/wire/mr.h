/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One memory region in its owner's read-only segment. A key is
 * index << 8 | tag, looked up in the owner's table and never decoded by
 * anybody else: with an HCA bound, the HCA's keys index the same table through
 * a hash.
 */
#ifndef ROSM_WIRE_MR_H
#define ROSM_WIRE_MR_H

#include "engine/wire/common.h"

#define ROSM_WIRE_MRS		(1u << 16)

/*
 * live is stored last on registration (release) and first on
 * deregistration; who uses the region names it in a hazard line first, then
 * reads live (docs/memory-ordering.md, mr).
 *
 *  offset field   unit
 *  0      live    key (both lkey and rkey) + 1 in the high word: 0 = invalid
 *  8      addr    virtual address in the owner of the first byte
 *  16     len     bytes
 *  24     iova    what a remote address is relative to
 *  32     pd      protection domain number, never 0
 *  36     access  enum rosm_access
 */
struct rosm_wire_mr {
	_Atomic uint64_t live;
	_Atomic uint64_t addr;
	_Atomic uint64_t len;
	_Atomic uint64_t iova;
	_Atomic uint32_t pd;
	_Atomic uint32_t access;
	uint8_t reserved[24];
};

static_assert(sizeof(struct rosm_wire_mr) == 64, "one line");

static inline uint64_t rosm_wire_mr_live(uint32_t key)
{
	return 1ull << 32 | key;
}

#endif
