/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids with a generation tag: see idtable.h for the layout of an id and for
 * locking. The table of chunks has its final length from the start, chunks
 * are added as indices are needed and stay until fini. The free list is a
 * queue, so that an index rests as long as possible before it is used again.
 */
#include <config.h>

#include "util/idtable.h"

#include <errno.h>
#include <stdlib.h>

#define NONE	UINT32_MAX

static uint32_t max_entries(const struct ru_idtable *t)
{
	return 1u << t->index_bits;
}

int ru_idtable_init(struct ru_idtable *t, unsigned int index_bits,
		    unsigned int tag_bits)
{
	size_t n;

	if (index_bits < 1 || index_bits > 24 || tag_bits < 1 ||
	    tag_bits > 31 || index_bits + tag_bits > 32)
		return -EINVAL;
	*t = (struct ru_idtable){
		.index_bits = index_bits,
		.tag_mask = (1u << tag_bits) - 1,
		.free_head = NONE,
		.free_tail = NONE,
	};
	n = (max_entries(t) + RU_IDTABLE_CHUNK - 1) / RU_IDTABLE_CHUNK;
	t->chunks = calloc(n, sizeof(*t->chunks));
	return t->chunks ? 0 : -ENOMEM;
}

void ru_idtable_fini(struct ru_idtable *t)
{
	uint32_t i;

	for (i = 0; i < t->capacity; i += RU_IDTABLE_CHUNK)
		free(t->chunks[i / RU_IDTABLE_CHUNK]);
	free(t->chunks);
	*t = (struct ru_idtable){ .free_head = NONE, .free_tail = NONE };
}

static void push_free(struct ru_idtable *t, uint32_t index)
{
	ru_idtable_entry(t, index)->next_free = NONE;
	if (t->free_tail == NONE)
		t->free_head = index;
	else
		ru_idtable_entry(t, t->free_tail)->next_free = index;
	t->free_tail = index;
}

static uint32_t pop_free(struct ru_idtable *t)
{
	uint32_t index = t->free_head;

	t->free_head = ru_idtable_entry(t, index)->next_free;
	if (t->free_head == NONE)
		t->free_tail = NONE;
	return index;
}

static int grow(struct ru_idtable *t)
{
	uint32_t n = max_entries(t) - t->capacity;
	struct ru_idtable_entry *chunk;
	uint32_t i;

	if (!n)
		return -ENOSPC;
	if (n > RU_IDTABLE_CHUNK)
		n = RU_IDTABLE_CHUNK;
	chunk = calloc(n, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	t->chunks[t->capacity >> RU_IDTABLE_CHUNK_BITS] = chunk;
	for (i = 0; i < n; i++) {
		chunk[i].tag = 1;
		push_free(t, t->capacity++);
	}
	return 0;
}

int ru_idtable_alloc(struct ru_idtable *t, void *ptr, uint32_t *id_out)
{
	struct ru_idtable_entry *e;
	uint32_t index;
	int rc;

	if (!ptr)
		return -EINVAL;
	if (t->free_head == NONE) {
		rc = grow(t);
		if (rc)
			return rc;
	}
	index = pop_free(t);
	e = ru_idtable_entry(t, index);
	e->ptr = ptr;
	t->used++;
	*id_out = e->tag << t->index_bits | index;
	return 0;
}

void *ru_idtable_free(struct ru_idtable *t, uint32_t id)
{
	uint32_t index = id & (max_entries(t) - 1);
	struct ru_idtable_entry *e;
	void *ptr = ru_idtable_get(t, id);

	if (!ptr)
		return NULL;
	e = ru_idtable_entry(t, index);
	e->ptr = NULL;
	e->tag = (e->tag + 1) & t->tag_mask;
	if (!e->tag)
		e->tag = 1;
	t->used--;
	push_free(t, index);
	return ptr;
}

void *ru_idtable_next(const struct ru_idtable *t, uint32_t *index,
		      uint32_t *id_out)
{
	while (*index < t->capacity) {
		const struct ru_idtable_entry *e;
		uint32_t i = (*index)++;

		e = ru_idtable_entry(t, i);
		if (!e->ptr)
			continue;
		if (id_out)
			*id_out = e->tag << t->index_bits | i;
		return e->ptr;
	}
	return NULL;
}
