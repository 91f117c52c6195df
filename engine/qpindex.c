/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See qpindex.h. The bitmap is private to the process and belongs to its one
 * instance; it starts anew with the next one (after the last close, or in a
 * fork child). Guarded by its own lock, which is not held over system calls.
 */
#include <config.h>

#include "engine/qpindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/lock.h"

static struct ru_lock map_lock;
static uint64_t map_who;		/* whose places these are */
static uint64_t map[ROSM_WIRE_QPS / 64];
static uint32_t map_next;		/* where the search goes on */

static int take_locked(struct rosm_inst *inst, uint32_t *index_out)
{
	uint32_t i, word;

	if (map_who != inst->who) {
		memset(map, 0, sizeof(map));
		map_who = inst->who;
		map_next = 0;
	}
	for (i = 0; i <= ROSM_WIRE_QPS / 64; i++) {
		uint64_t free_bits;

		word = (map_next / 64 + i) % (ROSM_WIRE_QPS / 64);
		free_bits = ~map[word];
		if (!i)
			free_bits &= ~0ull << map_next % 64;
		if (!free_bits)
			continue;
		*index_out = word * 64 + (uint32_t)__builtin_ctzll(free_bits);
		map[word] |= 1ull << *index_out % 64;
		map_next = (*index_out + 1) % ROSM_WIRE_QPS;
		/* do not touch new pages while few places are in use */
		if (map_next >= 256 && !map[0])
			map_next = 0;
		return 0;
	}
	return -ENOMEM;
}

int rosm_qpindex_alloc(struct rosm_inst *inst, struct rosm_qp *qp,
		       uint32_t *index_out)
{
	uint32_t index = 0;
	int rc;

	ru_lock_acquire(&map_lock);
	rc = take_locked(inst, &index);
	ru_lock_release(&map_lock);
	if (rc)
		return rc;
	rc = rosm_inst_commit_qp(inst, index);
	if (rc) {
		rosm_qpindex_free(inst, index);
		return rc;
	}
	if (qp)
		inst->qps[index] = qp;
	*index_out = index;
	return 0;
}

void rosm_qpindex_free(struct rosm_inst *inst, uint32_t index)
{
	ru_lock_acquire(&map_lock);
	inst->qps[index] = NULL;
	if (map_who == inst->who)
		map[index / 64] &= ~(1ull << index % 64);
	ru_lock_release(&map_lock);
}
