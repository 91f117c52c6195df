/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocator of ranges inside one segment of this process. All bookkeeping is
 * private memory: a peer that scribbles over the segment cannot mislead it.
 * Ranges are multiples of a cache line, committed before they are handed
 * out, zero when handed out and zeroed when freed, so that a peer that comes
 * late finds "invalid". Large freed ranges go back to the kernel.
 *
 * Thread safe by its own lock, which is held over the system calls that
 * commit and release: not for the data path.
 */
#ifndef RU_SHMALLOC_H
#define RU_SHMALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "util/list.h"
#include "util/lock.h"
#include "util/pool.h"
#include "util/shm.h"

#define RU_SHMALLOC_GRAIN	RU_CACHELINE
#define RU_SHMALLOC_BINS	42

/* From this size on a freed range's pages are released. */
#define RU_SHMALLOC_RELEASE_MIN	(64 * 1024)

struct ru_shmalloc {
	struct ru_lock lock;
	struct ru_shm *shm;
	struct ru_list blocks;		/* all, by address */
	struct ru_list bins[RU_SHMALLOC_BINS];	/* free, by log2 of length */
	uint64_t bins_used;		/* bit per bin that is not empty */
	struct ru_list *hash;		/* allocated, by offset */
	size_t hash_size;		/* a power of two */
	size_t allocated;		/* blocks */
	size_t used_bytes;
	size_t committed_bytes;
	uint64_t *committed;		/* bit per page */
	struct ru_pool pool;		/* of struct block */
};

/*
 * Manages bytes start_off .. end of the segment, which must be uncommitted
 * and stays the caller's. start_off is at least 1 (0 is no reference).
 * 0, -EINVAL, -ENOMEM.
 */
int ru_shmalloc_init(struct ru_shmalloc *a, struct ru_shm *shm,
		     size_t start_off);

/* Frees the bookkeeping; what is allocated simply stays in the segment. */
void ru_shmalloc_fini(struct ru_shmalloc *a);

/*
 * align: of the offset, a power of two up to 2 MiB; below a cache line means a
 * cache line. Zeroed and committed. *off_out is never 0. 0, -EINVAL (len 0,
 * bad align), -ENOMEM (no pages, or the segment is full).
 */
int ru_shmalloc_get(struct ru_shmalloc *a, size_t len, size_t align,
		    uint64_t *off_out);

/*
 * off: from ru_shmalloc_get(), else -EINVAL and nothing happens. The caller
 * knows that no peer still uses the range.
 */
int ru_shmalloc_put(struct ru_shmalloc *a, uint64_t off);

/* Length that the range at off really has, 0 when there is none. */
size_t ru_shmalloc_len(struct ru_shmalloc *a, uint64_t off);

static inline void *ru_shmalloc_ptr(const struct ru_shmalloc *a, uint64_t off)
{
	return (char *)a->shm->base + off;
}

#endif
