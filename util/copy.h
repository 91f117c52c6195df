/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory copies whose speed does not depend on how the two addresses lie to
 * each other. The string instructions that the C library uses fall to a
 * fraction of their speed when the destination lies a few bytes ahead of the
 * source modulo a page; a plain vector loop does not. At other distances long
 * copies use them: they write whole lines without fetching these from another
 * core first.
 *
 * The last bytes (1 to 32 of them, whatever fits the last store) become
 * visible after all others: a reader that polls the last byte then finds the
 * rest, whose own order is not promised. A copy of 1, 2, 4 or 8 bytes is a
 * single load and a single store. Ranges must not overlap.
 */
#ifndef RU_COPY_H
#define RU_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "util/compiler.h"

/* More than 16 bytes. */
void ru_copy_long(void *dst, const void *src, size_t n);

/*
 * Past the caches: for copies larger than the last-level cache, which would
 * only evict what is useful. Any size is correct.
 */
void ru_copy_stream(void *dst, const void *src, size_t n);

/* At most 16 bytes. */
static inline void ru_copy_short(void *dst, const void *src, size_t n)
{
	const char *s = src;
	char *d = dst;

	if (n >= 8) {
		uint64_t head, tail;

		__builtin_memcpy(&head, s, 8);
		__builtin_memcpy(&tail, s + n - 8, 8);
		if (n > 8) {
			__builtin_memcpy(d, &head, 8);
			ru_store_barrier();
		}
		__builtin_memcpy(d + n - 8, &tail, 8);
	} else if (n >= 4) {
		uint32_t head, tail;

		__builtin_memcpy(&head, s, 4);
		__builtin_memcpy(&tail, s + n - 4, 4);
		if (n > 4) {
			__builtin_memcpy(d, &head, 4);
			ru_store_barrier();
		}
		__builtin_memcpy(d + n - 4, &tail, 4);
	} else if (n >= 2) {
		uint16_t head, tail;

		__builtin_memcpy(&head, s, 2);
		__builtin_memcpy(&tail, s + n - 2, 2);
		if (n > 2) {
			__builtin_memcpy(d, &head, 2);
			ru_store_barrier();
		}
		__builtin_memcpy(d + n - 2, &tail, 2);
	} else if (n) {
		*d = *s;
	}
}

static inline void ru_copy(void *dst, const void *src, size_t n)
{
	if (n <= 16)
		ru_copy_short(dst, src, n);
	else
		ru_copy_long(dst, src, n);
}

/* Sum of the lengths; SIZE_MAX where it would wrap. */
size_t ru_iov_len(const struct iovec *iov, size_t iov_count);

/*
 * Copies up to len bytes from, or to, byte `offset` of the vector; returns
 * how many there were. The last bytes come last, like ru_copy().
 */
size_t ru_copy_from_iov(void *dst, const struct iovec *iov, size_t iov_count,
			size_t offset, size_t len);
size_t ru_copy_to_iov(const struct iovec *iov, size_t iov_count,
		      size_t offset, const void *src, size_t len);

#endif
