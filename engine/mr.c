/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registration of memory: entries of the table in our read-only segment.
 *
 * A key is index << 8 | tag. Freed indices wait in a queue, so that one is
 * used again as late as can be; its tag is then the next one (1..255, so no
 * key is 0), and an old key finds a live word that is not its own.
 *
 * Lock: the table's, over index and tag only; an entry between its
 * allocation and its free belongs to one struct rosm_mr.
 */
#include <config.h>

#include "engine/mr.h"

#include "engine/cq.h"
#include "engine/hazard.h"
#include "engine/pd.h"
#include "engine/presence.h"
#include "util/fault.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ACCESS_KNOWN	(ROSM_ACCESS_LOCAL_WRITE | ROSM_ACCESS_REMOTE_WRITE | \
			 ROSM_ACCESS_REMOTE_READ | ROSM_ACCESS_REMOTE_ATOMIC)

struct rosm_mr {
	struct rosm_pd *pd;
	struct rosm_wire_mr *entry;
	uint32_t index;
	uint32_t key;
};

struct rosm_mr_table {
	struct ru_lock lock;
	uint32_t used;			/* indices that ever were */
	uint32_t free_count;
	uint32_t free_head;		/* in free_queue */
	uint16_t free_queue[ROSM_WIRE_MRS];
	uint8_t tags[ROSM_WIRE_MRS];	/* of the last use */
};

int rosm_mr_table_init(struct rosm_inst *inst)
{
	struct rosm_mr_table *t = RU_FAIL_POINT("mr.table") ?
					  NULL : calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	ru_lock_init(&t->lock);
	inst->mr_table = t;
	return 0;
}

void rosm_mr_table_fini(struct rosm_inst *inst)
{
	free(inst->mr_table);
	inst->mr_table = NULL;
}

static int key_get(struct rosm_mr_table *t, uint32_t *index_out,
		   uint32_t *key_out)
{
	uint32_t index;

	ru_lock_acquire(&t->lock);
	if (t->used < ROSM_WIRE_MRS - 1 && t->free_count < 64) {
		index = t->used++;
	} else if (t->free_count) {
		index = t->free_queue[t->free_head % ROSM_WIRE_MRS];
		t->free_head++;
		t->free_count--;
	} else {
		ru_lock_release(&t->lock);
		return -ENOMEM;
	}
	t->tags[index] = t->tags[index] == 255 ? 1 : t->tags[index] + 1;
	*index_out = index;
	*key_out = index << 8 | t->tags[index];
	ru_lock_release(&t->lock);
	return 0;
}

static void key_put(struct rosm_mr_table *t, uint32_t index)
{
	ru_lock_acquire(&t->lock);
	t->free_queue[(t->free_head + t->free_count) % ROSM_WIRE_MRS] =
		(uint16_t)index;
	t->free_count++;
	ru_lock_release(&t->lock);
}

/*
 * msync(MS_ASYNC) writes nothing (Linux 2.6.19) and answers ENOMEM for a gap:
 * it costs a look at each mapping of the range, not at each page.
 */
static int check_mapped(const void *addr, uint64_t len)
{
	uint64_t page = ru_page_size();
	uint64_t from = ru_align_down((uintptr_t)addr, page);
	uint64_t to = ru_align_up((uintptr_t)addr + len, page);

	if (!len)
		return 0;
	if (to < from)		/* the last page of all: nobody's */
		return -EFAULT;
	return msync((void *)(uintptr_t)from, to - from, MS_ASYNC) ? -EFAULT :
								     0;
}

static int check_args(const void *addr, uint64_t len, uint64_t iova,
		      uint32_t access)
{
	uint32_t writes = ROSM_ACCESS_REMOTE_WRITE | ROSM_ACCESS_REMOTE_ATOMIC;

	if (access & ~(uint32_t)ACCESS_KNOWN)
		return -EINVAL;
	if ((access & writes) && !(access & ROSM_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if ((uintptr_t)addr + len < (uintptr_t)addr || iova + len < iova)
		return -EINVAL;
	return check_mapped(addr, len);
}

/* R-mr: the entry, then live. Stopped in between, it dies with its owner. */
static void publish(struct rosm_mr *mr, const void *addr, uint64_t len,
		    uint64_t iova, uint32_t access)
{
	struct rosm_wire_mr *e = mr->entry;

	atomic_store_explicit(&e->addr, (uintptr_t)addr, memory_order_relaxed);
	atomic_store_explicit(&e->len, len, memory_order_relaxed);
	atomic_store_explicit(&e->iova, iova, memory_order_relaxed);
	atomic_store_explicit(&e->pd, mr->pd->number, memory_order_relaxed);
	atomic_store_explicit(&e->access, access, memory_order_relaxed);
	RU_KILL_POINT("mr.publish");
	atomic_store_explicit(&e->live, rosm_wire_mr_live(mr->key),
			      memory_order_release);
}

int rosm_mr_reg(struct rosm_pd *pd, void *addr, uint64_t len, uint64_t iova,
		uint32_t access, struct rosm_mr **mr_out)
{
	struct rosm_inst *inst = pd->ctx->inst;
	struct rosm_mr *mr;
	int rc;

	rc = check_args(addr, len, iova, access);
	if (rc)
		return rc;
	mr = RU_FAIL_POINT("mr.alloc") ? NULL : calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	rc = key_get(inst->mr_table, &mr->index, &mr->key);
	if (rc)
		goto free_mr;
	rc = rosm_inst_commit_mr(inst, mr->index);
	if (rc)
		goto put_key;
	mr->pd = pd;
	mr->entry = &inst->mrs[mr->index];
	publish(mr, addr, len, iova, access);
	atomic_fetch_add_explicit(&pd->refs, 1, memory_order_relaxed);
	*mr_out = mr;
	return 0;

put_key:
	key_put(inst->mr_table, mr->index);
free_mr:
	free(mr);
	return rc;
}

int rosm_mr_dereg(struct rosm_mr *mr)
{
	struct rosm_inst *inst = mr->pd->ctx->inst;

	/* what has arrived for this memory reaches it while it may */
	if (!inst->orphan)
		rosm_cqs_drain(inst);
	atomic_store_explicit(&mr->entry->live, 0, memory_order_seq_cst);
	atomic_fetch_add_explicit(&inst->roh->mr_epoch, 1,
				  memory_order_seq_cst);
	if (!inst->orphan)
		rosm_hazard_drain_mr(inst, mr->key);
	key_put(inst->mr_table, mr->index);
	atomic_fetch_sub_explicit(&mr->pd->refs, 1, memory_order_release);
	free(mr);
	return 0;
}

uint32_t rosm_mr_lkey(const struct rosm_mr *mr)
{
	return mr->key;
}

uint32_t rosm_mr_rkey(const struct rosm_mr *mr)
{
	return mr->key;
}
