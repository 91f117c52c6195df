/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of a segment: see shmalloc.h. The segment is tiled by blocks, kept
 * in address order in one list; free ones are also in a bin by the log2 of
 * their length, allocated ones in a hash by offset. Neighbouring free blocks
 * are merged at once. A bit per page says what was committed through here.
 *
 * Invariant: a free block reads as zero, unless a peer wrote into it; hence
 * what was committed before is zeroed once more when it is handed out.
 */
#include <config.h>

#include "util/shmalloc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/fault.h"

#define FIRST_HASH	64
#define MAX_ALIGN	((size_t)2 << 20)

struct block {
	struct ru_list by_address;
	struct ru_list link;	/* in a bin or in the hash */
	uint64_t off;
	size_t len;
	bool is_free;
};

static struct block *of_link(struct ru_list *l)
{
	return ru_list_entry(l, struct block, link);
}

static unsigned int bin_of(size_t len)
{
	return (unsigned int)ru_min(ru_log2(len), RU_SHMALLOC_BINS - 1);
}

static struct ru_list *hash_head(struct ru_list *hash, size_t size,
				 uint64_t off)
{
	uint64_t h = (off / RU_SHMALLOC_GRAIN) * UINT64_C(0x9e3779b97f4a7c15);

	return &hash[(h >> 32) & (size - 1)];
}

static struct ru_list *new_hash(size_t size)
{
	struct ru_list *hash = calloc(size, sizeof(*hash));
	size_t i;

	for (i = 0; hash && i < size; i++)
		ru_list_init(&hash[i]);
	return hash;
}

/* When memory is short the chains grow longer instead. */
static void grow_hash(struct ru_shmalloc *a)
{
	size_t size = a->hash_size * 2;
	struct ru_list *hash, *l;
	size_t i;

	hash = new_hash(size);
	if (!hash)
		return;
	for (i = 0; i < a->hash_size; i++)
		while ((l = ru_list_pop_head(&a->hash[i])))
			ru_list_add_tail(hash_head(hash, size,
						   of_link(l)->off), l);
	free(a->hash);
	a->hash = hash;
	a->hash_size = size;
}

static void add_free(struct ru_shmalloc *a, struct block *b)
{
	unsigned int bin = bin_of(b->len);

	b->is_free = true;
	ru_list_add_head(&a->bins[bin], &b->link);
	a->bins_used |= UINT64_C(1) << bin;
}

static void del_free(struct ru_shmalloc *a, struct block *b)
{
	unsigned int bin = bin_of(b->len);

	ru_list_del(&b->link);
	if (ru_list_empty(&a->bins[bin]))
		a->bins_used &= ~(UINT64_C(1) << bin);
	b->is_free = false;
}

/* A new free block in front of, or behind, an existing one. */
static void carve(struct ru_shmalloc *a, struct block *at, bool before,
		  uint64_t off, size_t len)
{
	struct block *b = ru_pool_get(&a->pool);	/* was reserved */

	b->off = off;
	b->len = len;
	if (before)
		ru_list_add_before(&at->by_address, &b->by_address);
	else
		ru_list_add_after(&at->by_address, &b->by_address);
	add_free(a, b);
}

int ru_shmalloc_init(struct ru_shmalloc *a, struct ru_shm *shm,
		     size_t start_off)
{
	size_t start = ru_align_up(start_off, RU_SHMALLOC_GRAIN);
	size_t words = (shm->size / ru_page_size() + 63) / 64;
	struct block *b;
	int i, rc;

	if (!start_off || start_off >= shm->size || start >= shm->size)
		return -EINVAL;
	*a = (struct ru_shmalloc){ .shm = shm, .hash_size = FIRST_HASH };
	ru_lock_init(&a->lock);
	ru_list_init(&a->blocks);
	for (i = 0; i < RU_SHMALLOC_BINS; i++)
		ru_list_init(&a->bins[i]);
	rc = ru_pool_init(&a->pool, sizeof(struct block), 0, 64, 0);
	if (rc)
		return rc;
	rc = ru_pool_reserve(&a->pool, 1);
	a->hash = new_hash(a->hash_size);
	a->committed = calloc(words, sizeof(*a->committed));
	if (rc || !a->hash || !a->committed) {
		ru_shmalloc_fini(a);
		return -ENOMEM;
	}
	b = ru_pool_get(&a->pool);
	b->off = start;
	b->len = shm->size - start;	/* both multiples of the grain */
	ru_list_add_tail(&a->blocks, &b->by_address);
	add_free(a, b);
	return 0;
}

void ru_shmalloc_fini(struct ru_shmalloc *a)
{
	ru_pool_fini(&a->pool);
	free(a->hash);
	free(a->committed);
	a->hash = NULL;
	a->committed = NULL;
}

/* The free block to take from, and where in it; NULL when none fits. */
static struct block *find_fit(struct ru_shmalloc *a, size_t len, size_t align,
			      uint64_t *off_out)
{
	uint64_t bins = a->bins_used >> bin_of(len) << bin_of(len);
	struct ru_list *l;

	for (; bins; bins &= bins - 1) {
		struct ru_list *bin = &a->bins[__builtin_ctzll(bins)];

		ru_list_for_each(l, bin) {
			struct block *b = of_link(l);
			uint64_t off = ru_align_up(b->off, align);

			if (off - b->off <= b->len &&
			    len <= b->len - (off - b->off)) {
				*off_out = off;
				return b;
			}
		}
	}
	return NULL;
}

static bool is_committed(const struct ru_shmalloc *a, size_t page_no)
{
	return a->committed[page_no / 64] >> (page_no % 64) & 1;
}

static void mark(struct ru_shmalloc *a, size_t first, size_t end, bool on)
{
	for (; first < end; first++) {
		uint64_t bit = UINT64_C(1) << (first % 64);

		if (on)
			a->committed[first / 64] |= bit;
		else
			a->committed[first / 64] &= ~bit;
	}
}

/* Commits what is not, zeroes what was. */
static int prepare(struct ru_shmalloc *a, uint64_t off, size_t len)
{
	size_t page = ru_page_size();
	size_t at = off / page, end = (off + len + page - 1) / page;

	while (at < end) {
		bool old = is_committed(a, at);
		size_t first = at;
		int rc;

		while (at < end && is_committed(a, at) == old)
			at++;
		if (old) {
			uint64_t from = ru_max(first * page, off);
			uint64_t to = ru_min(at * page, off + len);

			memset(ru_shmalloc_ptr(a, from), 0, to - from);
			continue;
		}
		rc = ru_shm_commit(a->shm, first * page, (at - first) * page);
		if (rc)
			return rc;
		mark(a, first, at, true);
		a->committed_bytes += (at - first) * page;
	}
	return 0;
}

static int get_locked(struct ru_shmalloc *a, size_t len, size_t align,
		      uint64_t *off_out)
{
	struct block *b;
	uint64_t off, tail;
	int rc;

	b = find_fit(a, len, align, &off);
	if (!b)
		return -ENOMEM;
	rc = ru_pool_reserve(&a->pool, 2);
	if (!rc)
		rc = prepare(a, off, len);
	if (rc)
		return rc;
	del_free(a, b);
	if (off > b->off)
		carve(a, b, true, b->off, off - b->off);
	tail = b->off + b->len - (off + len);
	if (tail)
		carve(a, b, false, off + len, tail);
	b->off = off;
	b->len = len;
	if (++a->allocated > 2 * a->hash_size)
		grow_hash(a);
	ru_list_add_tail(hash_head(a->hash, a->hash_size, off), &b->link);
	a->used_bytes += len;
	*off_out = off;
	return 0;
}

int ru_shmalloc_get(struct ru_shmalloc *a, size_t len, size_t align,
		    uint64_t *off_out)
{
	int rc;

	if (!len || !ru_is_pow2(align) || align > MAX_ALIGN)
		return -EINVAL;
	if (len > a->shm->size || RU_FAIL_POINT("shmalloc.get"))
		return -ENOMEM;
	len = ru_align_up(len, RU_SHMALLOC_GRAIN);
	align = ru_max(align, RU_SHMALLOC_GRAIN);
	ru_lock_acquire(&a->lock);
	rc = get_locked(a, len, align, off_out);
	ru_lock_release(&a->lock);
	return rc;
}

static struct block *find_allocated(struct ru_shmalloc *a, uint64_t off)
{
	struct ru_list *head = hash_head(a->hash, a->hash_size, off);
	struct ru_list *l;

	ru_list_for_each(l, head)
		if (of_link(l)->off == off)
			return of_link(l);
	return NULL;
}

/* Zero, by giving whole pages back where that is worth a system call. */
static void wipe(struct ru_shmalloc *a, uint64_t off, size_t len)
{
	size_t page = ru_page_size();
	uint64_t first = ru_align_up(off, page);
	uint64_t end = ru_align_down(off + len, page);

	if (len < RU_SHMALLOC_RELEASE_MIN ||
	    ru_shm_release(a->shm, first, end - first)) {
		memset(ru_shmalloc_ptr(a, off), 0, len);
		return;
	}
	mark(a, first / page, end / page, false);
	a->committed_bytes -= end - first;
	memset(ru_shmalloc_ptr(a, off), 0, first - off);
	memset(ru_shmalloc_ptr(a, end), 0, off + len - end);
}

/* Swallows a neighbour if it is free; b itself is in no bin. */
static void merge(struct ru_shmalloc *a, struct block *b, struct ru_list *l)
{
	struct block *other = ru_list_entry(l, struct block, by_address);

	if (l == &a->blocks || !other->is_free)
		return;
	del_free(a, other);
	ru_list_del(&other->by_address);
	b->off = ru_min(b->off, other->off);
	b->len += other->len;
	ru_pool_put(&a->pool, other);
}

int ru_shmalloc_put(struct ru_shmalloc *a, uint64_t off)
{
	struct block *b;

	ru_lock_acquire(&a->lock);
	b = find_allocated(a, off);
	if (b) {
		ru_list_del(&b->link);
		a->allocated--;
		a->used_bytes -= b->len;
		wipe(a, b->off, b->len);
		merge(a, b, b->by_address.prev);
		merge(a, b, b->by_address.next);
		add_free(a, b);
	}
	ru_lock_release(&a->lock);
	return b ? 0 : -EINVAL;
}

size_t ru_shmalloc_len(struct ru_shmalloc *a, uint64_t off)
{
	struct block *b;
	size_t len;

	ru_lock_acquire(&a->lock);
	b = find_allocated(a, off);
	len = b ? b->len : 0;
	ru_lock_release(&a->lock);
	return len;
}
