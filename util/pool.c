/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing of object pools: see pool.h. A chunk is one aligned allocation: a
 * head that links the chunks, padded to the objects' alignment, then the
 * objects.
 */
#include <config.h>

#include "util/pool.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int ru_pool_init(struct ru_pool *p, size_t obj_bytes, size_t align,
		 size_t per_chunk, size_t max)
{
	if (!align)
		align = sizeof(void *);
	if (!ru_is_pow2(align) || !obj_bytes || !per_chunk ||
	    obj_bytes > SIZE_MAX / 4 / per_chunk || align > SIZE_MAX / 4)
		return -EINVAL;
	if (align < sizeof(void *))
		align = sizeof(void *);
	*p = (struct ru_pool){
		.obj_bytes = ru_align_up(obj_bytes, align),
		.align = align,
		.per_chunk = per_chunk,
		.max = max,
	};
	return 0;
}

void ru_pool_fini(struct ru_pool *p)
{
	void *chunk, *next;

	for (chunk = p->chunks; chunk; chunk = next) {
		next = *(void **)chunk;
		free(chunk);
	}
	p->chunks = NULL;
	p->free = NULL;
	p->capacity = 0;
	p->used = 0;
}

int ru_pool_grow(struct ru_pool *p, size_t n)
{
	char *chunk, *obj;
	size_t bytes;

	if (p->max && n > p->max - p->capacity)
		n = p->max - p->capacity;
	if (!n)
		return -ENOSPC;
	if (__builtin_mul_overflow(n, p->obj_bytes, &bytes) ||
	    __builtin_add_overflow(bytes, p->align, &bytes))
		return -ENOMEM;
	chunk = aligned_alloc(p->align, bytes);
	if (!chunk)
		return -ENOMEM;
	*(void **)chunk = p->chunks;
	p->chunks = chunk;
	p->capacity += n;
	/* Backwards, so that objects come out in ascending order. */
	for (obj = chunk + n * p->obj_bytes - p->obj_bytes + p->align; n;
	     n--, obj -= p->obj_bytes) {
		*(void **)obj = p->free;
		p->free = obj;
	}
	return 0;
}

int ru_pool_reserve(struct ru_pool *p, size_t n)
{
	size_t spare = p->capacity - p->used;

	if (n <= spare)
		return 0;
	if (p->max && n > p->max - p->used)
		return -ENOSPC;
	return ru_pool_grow(p, ru_max(n - spare, p->per_chunk));
}
