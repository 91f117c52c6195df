/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one way from an offset found in shared memory to a pointer. An offset
 * is untrusted: it is checked here against the size of the mapping, which is
 * private and sealed. Copy the offset to a local before calling, never read
 * it twice. Offset 0, where the segment's header lies, is no reference: zero
 * means "invalid".
 */
#ifndef RU_SHMREF_H
#define RU_SHMREF_H

#include <stddef.h>
#include <stdint.h>

#include "util/compiler.h"

/* align: a power of two. */
static inline void *ru_shm_ptr_aligned(void *base, size_t size, uint64_t off,
				       uint64_t len, uint64_t align)
{
	if (ru_unlikely(!off || off > size || len > size - off ||
			(off & (align - 1))))
		return NULL;
	return (char *)base + off;
}

/* For structures: 8-byte aligned. NULL when out of range or misaligned. */
static inline void *ru_shm_ptr(void *base, size_t size, uint64_t off,
			       uint64_t len)
{
	return ru_shm_ptr_aligned(base, size, off, len, 8);
}

/* For payload: any alignment. */
static inline void *ru_shm_bytes(void *base, size_t size, uint64_t off,
				 uint64_t len)
{
	return ru_shm_ptr_aligned(base, size, off, len, 1);
}

#endif
