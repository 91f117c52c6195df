/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Constants of the shared layout: what two processes must agree on before
 * they read a byte of each other.
 *
 * Everything under engine/wire/ is mapped by other processes. Fixed-width
 * integers and _Atomic of them only; zero means "invalid" in every word. A
 * change of any layout here bumps ROSM_WIRE_VERSION; peers of another version
 * refuse each other. Documented in docs/shm-layout.md.
 */
#ifndef ROSM_WIRE_COMMON_H
#define ROSM_WIRE_COMMON_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define ROSM_WIRE_VERSION	1u

#define ROSM_WIRE_MAGIC_DIR	0x5249444d534f52ull	/* "ROSMDIR" */
#define ROSM_WIRE_MAGIC_RW	0x5752534d534f52ull	/* "ROSMSRW" */
#define ROSM_WIRE_MAGIC_RO	0x4f52534d534f52ull	/* "ROSMSRO" */

/*
 * An instance is named by its slot in the directory (12 bits) and the slot's
 * generation (28 bits, never 0). Both fit one word together with 24 bits of
 * something else: a QPN, a ring position and state.
 */
#define ROSM_WIRE_INST_BITS	12
#define ROSM_WIRE_GEN_BITS	28
#define ROSM_WIRE_INSTANCES	(1u << ROSM_WIRE_INST_BITS)
#define ROSM_WIRE_GEN_MASK	((1u << ROSM_WIRE_GEN_BITS) - 1)

/* (generation << 12 | slot): never 0, since a generation is never 0 */
static inline uint64_t rosm_wire_who(uint32_t slot, uint32_t gen)
{
	return (uint64_t)gen << ROSM_WIRE_INST_BITS | slot;
}

static inline uint32_t rosm_wire_who_slot(uint64_t who)
{
	return (uint32_t)who & (ROSM_WIRE_INSTANCES - 1);
}

static inline uint32_t rosm_wire_who_gen(uint64_t who)
{
	return (uint32_t)(who >> ROSM_WIRE_INST_BITS) & ROSM_WIRE_GEN_MASK;
}

#define ROSM_WIRE_WHO_BITS	(ROSM_WIRE_INST_BITS + ROSM_WIRE_GEN_BITS)
#define ROSM_WIRE_WHO_MASK	((1ull << ROSM_WIRE_WHO_BITS) - 1)

static_assert(ROSM_WIRE_WHO_BITS + 24 == 64, "who and 24 bits fill a word");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics are lock-free");
static_assert(ATOMIC_INT_LOCK_FREE == 2, "32-bit atomics are lock-free");

#endif
