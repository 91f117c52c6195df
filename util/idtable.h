/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Table from small integer ids to pointers. An id is
 *
 *	tag << index_bits | index
 *
 * where the tag counts the uses of the index, so that an id that was freed
 * is not found again until the tag wraps. The tag is never 0, hence neither
 * is an id. Freed indices are reused oldest first. Entries never move while
 * the table grows.
 *
 * No locking: the caller serialises all calls, lookups included.
 */
#ifndef RU_IDTABLE_H
#define RU_IDTABLE_H

#include <stdint.h>

#include "util/compiler.h"

#define RU_IDTABLE_CHUNK_BITS	8
#define RU_IDTABLE_CHUNK	(1u << RU_IDTABLE_CHUNK_BITS)

struct ru_idtable_entry {
	void *ptr;		/* NULL: free */
	uint32_t tag;
	uint32_t next_free;
};

struct ru_idtable {
	struct ru_idtable_entry **chunks;
	uint32_t index_bits;
	uint32_t tag_mask;	/* of the tag itself, not shifted */
	uint32_t capacity;	/* entries that exist */
	uint32_t used;
	uint32_t free_head;	/* indices; UINT32_MAX: none */
	uint32_t free_tail;
};

/*
 * index_bits 1..24 bounds the number of live ids, tag_bits 1..31 their
 * reuse; index_bits + tag_bits is the width of an id, at most 32.
 * 0, -EINVAL, -ENOMEM.
 */
int ru_idtable_init(struct ru_idtable *t, unsigned int index_bits,
		    unsigned int tag_bits);

/* Frees the table; what the pointers point at is the caller's. */
void ru_idtable_fini(struct ru_idtable *t);

/* ptr must not be NULL. 0, -EINVAL, -ENOMEM, -ENOSPC (all indices used). */
int ru_idtable_alloc(struct ru_idtable *t, void *ptr, uint32_t *id_out);

/* Returns the pointer that the id named, NULL if it is not allocated. */
void *ru_idtable_free(struct ru_idtable *t, uint32_t id);

/*
 * First live entry with an index of at least *index; sets *index behind it
 * and *id_out (unless NULL) to its id. NULL at the end. Start with 0:
 *	for (i = 0; (p = ru_idtable_next(t, &i, &id));)
 * The body may free the entry it was given.
 */
void *ru_idtable_next(const struct ru_idtable *t, uint32_t *index,
		      uint32_t *id_out);

static inline struct ru_idtable_entry *
ru_idtable_entry(const struct ru_idtable *t, uint32_t index)
{
	return &t->chunks[index >> RU_IDTABLE_CHUNK_BITS]
			 [index & (RU_IDTABLE_CHUNK - 1)];
}

/* NULL for an id that is not, or no longer, allocated. Any id is allowed. */
static inline void *ru_idtable_get(const struct ru_idtable *t, uint32_t id)
{
	uint32_t index = id & ((1u << t->index_bits) - 1);
	struct ru_idtable_entry *e;

	if (ru_unlikely(index >= t->capacity))
		return NULL;
	e = ru_idtable_entry(t, index);
	return ru_likely(e->tag == id >> t->index_bits) ? e->ptr : NULL;
}

#endif
