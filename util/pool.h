/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pool of objects of one size. Memory comes in chunks that are returned only
 * by ru_pool_fini(); get and put are a pointer each. The content of an
 * object handed out is undefined. No locking: the caller serialises.
 */
#ifndef RU_POOL_H
#define RU_POOL_H

#include <stddef.h>

#include "util/compiler.h"

struct ru_pool {
	void *free;		/* singly linked through the objects */
	void *chunks;		/* likewise, through the chunks' heads */
	size_t obj_bytes;	/* rounded up to align */
	size_t align;
	size_t per_chunk;
	size_t capacity;	/* objects that exist */
	size_t max;		/* 0: no limit */
	size_t used;
};

/*
 * align: a power of two, 0 for that of a pointer; per_chunk: how many
 * objects the pool grows by, at least 1; max: 0 for no limit. Allocates
 * nothing yet. 0 or -EINVAL.
 */
int ru_pool_init(struct ru_pool *p, size_t obj_bytes, size_t align,
		 size_t per_chunk, size_t max);

/* Frees all memory, that of objects still in use included. */
void ru_pool_fini(struct ru_pool *p);

/*
 * Makes sure that the next n gets do not allocate; -ENOMEM, or -ENOSPC past
 * the limit.
 */
int ru_pool_reserve(struct ru_pool *p, size_t n);

/* One more chunk, at most n objects; used by ru_pool_get(). */
int ru_pool_grow(struct ru_pool *p, size_t n);

/* NULL when memory or the limit is exhausted. */
static inline void *ru_pool_get(struct ru_pool *p)
{
	void *obj;

	if (ru_unlikely(!p->free) && ru_pool_grow(p, p->per_chunk))
		return NULL;
	obj = p->free;
	p->free = *(void **)obj;
	p->used++;
	return obj;
}

static inline void ru_pool_put(struct ru_pool *p, void *obj)
{
	*(void **)obj = p->free;
	p->free = obj;
	p->used--;
}

#endif
