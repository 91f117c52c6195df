/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address vector, map and table alike: an fi_addr_t is the index of a record
 * in one growing array. Names are looked at by endpoints, once a peer; after
 * that an endpoint finds its peer by the index alone (rfi_ep.peers).
 *
 * A hash by address serves FI_SOURCE; where an address was inserted twice it
 * finds one of the two. lock guards all of it, eps_lock the list of endpoints
 * that are bound.
 */
#include <config.h>

#include "prov/rfi.h"

#include <stdlib.h>
#include <string.h>

#include "prov/ep.h"
#include "util/log.h"

#define AV_FIRST	64
#define AV_MAX		(1u << 30)
#define AV_FLAGS	(FI_EVENT | FI_READ | FI_SYMMETRIC)
#define INSERT_FLAGS	(FI_MORE | FI_SYNC_ERR)

/* ---- hash by address ------------------------------------------------ */

static uint32_t av_bucket(const struct rfi_av *av, const uint8_t *addr)
{
	uint64_t h = 0, word;
	size_t i;

	for (i = 0; i < ROSM_NAME_BYTES; i += sizeof(word)) {
		memcpy(&word, addr + i, sizeof(word));
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 32;
	}
	return (uint32_t)h & ((1u << av->bucket_bits) - 1);
}

static void av_hash_add(struct rfi_av *av, uint32_t index)
{
	struct rfi_av_entry *e = &av->entries[index];
	uint32_t b = av_bucket(av, e->addr);

	e->next = av->buckets[b];
	av->buckets[b] = index + 1;
}

static void av_hash_del(struct rfi_av *av, uint32_t index)
{
	struct rfi_av_entry *e = &av->entries[index];
	uint32_t *link = &av->buckets[av_bucket(av, e->addr)];

	while (*link != index + 1)
		link = &av->entries[*link - 1].next;
	*link = e->next;
}

static int av_grow_locked(struct rfi_av *av, uint32_t capacity)
{
	struct rfi_av_entry *entries;
	uint32_t *buckets, i;

	if (capacity > AV_MAX)
		return -FI_ENOMEM;
	buckets = calloc(capacity, sizeof(*buckets));
	if (!buckets)
		return -FI_ENOMEM;
	entries = realloc(av->entries, capacity * sizeof(*entries));
	if (!entries) {
		free(buckets);
		return -FI_ENOMEM;
	}
	for (i = av->capacity; i < capacity; i++)
		entries[i].used = false;
	free(av->buckets);
	av->buckets = buckets;
	av->bucket_bits = ru_log2(capacity);
	av->entries = entries;
	for (i = 0; i < av->capacity; i++)
		if (entries[i].used)
			av_hash_add(av, i);
	av->capacity = capacity;
	return 0;
}

/* ---- look-ups ------------------------------------------------------- */

int rfi_av_address(struct rfi_av *av, fi_addr_t index,
		   uint8_t addr_out[ROSM_NAME_BYTES])
{
	int ret = -FI_EINVAL;

	rfi_lock_acquire(&av->lock);
	if (index < av->capacity && av->entries[index].used) {
		memcpy(addr_out, av->entries[index].addr, ROSM_NAME_BYTES);
		ret = 0;
	}
	rfi_lock_release(&av->lock);
	return ret;
}

fi_addr_t rfi_av_find(struct rfi_av *av, const uint8_t addr[ROSM_NAME_BYTES])
{
	fi_addr_t found = FI_ADDR_NOTAVAIL;
	uint32_t at;

	rfi_lock_acquire(&av->lock);
	for (at = av->used ? av->buckets[av_bucket(av, addr)] : 0; at;
	     at = av->entries[at - 1].next) {
		if (!memcmp(av->entries[at - 1].addr, addr, ROSM_NAME_BYTES)) {
			found = at - 1;
			break;
		}
	}
	rfi_lock_release(&av->lock);
	return found;
}

static int av_lookup(struct fid_av *fid, fi_addr_t index, void *addr,
		     size_t *len)
{
	struct rfi_av *av = ru_container_of(fid, struct rfi_av, fid);
	uint8_t name[ROSM_NAME_BYTES];
	int ret = rfi_av_address(av, index, name);

	if (ret)
		return ret;
	memcpy(addr, name, ru_min(*len, sizeof(name)));
	*len = sizeof(name);
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf,
			      size_t *len)
{
	int n = rfi_addr_print(addr, buf, *len);

	(void)fid;
	*len = n < 0 ? 0 : (size_t)n + 1;
	return buf;
}

/* ---- insertion ------------------------------------------------------ */

/* The lowest free place, as FI_AV_TABLE wants it. */
static int av_add(struct rfi_av *av, const uint8_t *addr, fi_addr_t *index_out)
{
	uint32_t i;
	int ret = 0;

	if (!rfi_addr_valid(addr, ROSM_NAME_BYTES))
		return -FI_EINVAL;
	rfi_lock_acquire(&av->lock);
	for (i = av->lowest_free; i < av->capacity; i++)
		if (!av->entries[i].used)
			break;
	if (i == av->capacity)
		ret = av_grow_locked(av, ru_max(2 * (uint64_t)av->capacity,
						AV_FIRST));
	if (!ret) {
		memcpy(av->entries[i].addr, addr, ROSM_NAME_BYTES);
		av->entries[i].used = true;
		av_hash_add(av, i);
		av->used++;
		av->lowest_free = i + 1;
		*index_out = i;
	}
	rfi_lock_release(&av->lock);
	return ret;
}

static void av_report(struct rfi_av *av, size_t at, int ret, uint64_t flags,
		      void *context)
{
	if (flags & FI_SYNC_ERR && !av->async)
		((int *)context)[at] = -ret;
	if (ret && av->async) {
		struct fi_eq_err_entry err = {
			.fid = &av->fid.fid,
			.context = context,
			.data = at,
			.err = -ret,
			.prov_errno = -ret,
		};

		(void)rfi_eq_post_err(av->eq, &err);
	}
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count,
		     fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct rfi_av *av = ru_container_of(fid, struct rfi_av, fid);
	const uint8_t *a = addr;
	size_t i, done = 0;

	if (flags & ~(uint64_t)INSERT_FLAGS)
		return -FI_EBADFLAGS;
	if (flags & FI_SYNC_ERR && (av->async || !context))
		return -FI_EINVAL;
	if (av->async && !av->eq)
		return -FI_ENOEQ;
	if (count > INT32_MAX || (!fi_addr && av->type == FI_AV_MAP && count))
		return -FI_EINVAL;
	for (i = 0; i < count; i++, a += ROSM_NAME_BYTES) {
		fi_addr_t index = FI_ADDR_NOTAVAIL;
		int ret = av_add(av, a, &index);

		if (fi_addr)
			fi_addr[i] = index;
		av_report(av, i, ret, flags, context);
		done += !ret;
	}
	if (av->async) {
		struct fi_eq_entry entry = {
			.fid = &av->fid.fid,
			.context = context,
			.data = done,
		};

		return rfi_eq_post(av->eq, FI_AV_COMPLETE, &entry,
				   sizeof(entry));
	}
	return (int)done;
}

static int av_insertsvc(struct fid_av *fid, const char *node,
			const char *service, fi_addr_t *fi_addr,
			uint64_t flags, void *context)
{
	uint8_t addr[ROSM_NAME_BYTES];
	int ret = rfi_addr_make(node, service, addr);

	if (ret)
		return ret;
	return av_insert(fid, addr, 1, fi_addr, flags, context);
}

static int av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt,
			const char *service, size_t svccnt, fi_addr_t *fi_addr,
			uint64_t flags, void *context)
{
	(void)fid;
	(void)node;
	(void)nodecnt;
	(void)service;
	(void)svccnt;
	(void)fi_addr;
	(void)flags;
	(void)context;
	return -FI_ENOSYS;
}

/* ---- removal -------------------------------------------------------- */

static int av_drop(struct rfi_av *av, fi_addr_t index)
{
	int ret = -FI_EINVAL;

	rfi_lock_acquire(&av->lock);
	if (index < av->capacity && av->entries[index].used) {
		av_hash_del(av, (uint32_t)index);
		av->entries[index].used = false;
		av->used--;
		if (index < av->lowest_free)
			av->lowest_free = (uint32_t)index;
		ret = 0;
	}
	rfi_lock_release(&av->lock);
	return ret;
}

static int av_remove(struct fid_av *fid, fi_addr_t *fi_addr, size_t count,
		     uint64_t flags)
{
	struct rfi_av *av = ru_container_of(fid, struct rfi_av, fid);
	struct ru_list *l;
	int ret = 0, one;
	size_t i;

	if (flags)
		return -FI_EBADFLAGS;
	for (i = count; i-- > 0;) {
		one = av_drop(av, fi_addr[i]);
		if (one) {
			ret = one;
			continue;
		}
		rfi_lock_acquire(&av->eps_lock);
		ru_list_for_each(l, &av->eps)
			rfi_ep_forget(ru_list_entry(l, struct rfi_ep, av_link),
				      fi_addr[i]);
		rfi_lock_release(&av->eps_lock);
	}
	return ret;
}

static int av_set(struct fid_av *fid, struct fi_av_set_attr *attr,
		  struct fid_av_set **set, void *context)
{
	(void)fid;
	(void)attr;
	(void)set;
	(void)context;
	return -FI_ENOSYS;
}

/* ---- object --------------------------------------------------------- */

static int av_close(struct fid *fid)
{
	struct rfi_av *av = ru_container_of(fid, struct rfi_av, fid.fid);

	if (rfi_ref_busy(&av->ref))
		return -FI_EBUSY;
	if (av->eq)
		rfi_ref_put(&av->eq->ref);
	rfi_ref_put(&av->domain->ref);
	free(av->entries);
	free(av->buckets);
	free(av);
	return 0;
}

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct rfi_av *av = ru_container_of(fid, struct rfi_av, fid.fid);

	if (flags)
		return -FI_EBADFLAGS;
	if (bfid->fclass != FI_CLASS_EQ || av->eq)
		return -FI_EINVAL;
	av->eq = ru_container_of(bfid, struct rfi_eq, fid.fid);
	rfi_ref_get(&av->eq->ref);
	return 0;
}

static struct fi_ops av_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = av_bind,
	.control = rfi_nosys_control,
	.ops_open = rfi_nosys_ops_open,
	.tostr = rfi_nosys_tostr,
	.ops_set = rfi_nosys_ops_set,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
	.av_set = av_set,
};

int rfi_av_open(struct fid_domain *fid, struct fi_av_attr *attr,
		struct fid_av **out, void *context)
{
	struct rfi_domain *domain =
		ru_container_of(fid, struct rfi_domain, fid);
	struct rfi_av *av;
	uint64_t want;

	if (!attr || attr->rx_ctx_bits || attr->flags & ~(uint64_t)AV_FLAGS)
		return -FI_EINVAL;
	if (attr->name || attr->flags & FI_READ)
		return -FI_ENOSYS;	/* shared between processes */
	av = calloc(1, sizeof(*av));
	if (!av)
		return -FI_ENOMEM;
	want = ru_roundup_pow2(ru_min(ru_max(attr->count, AV_FIRST), 65536));
	if (av_grow_locked(av, (uint32_t)want)) {
		free(av);
		return -FI_ENOMEM;
	}
	if (attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_TABLE;
	av->type = attr->type;
	av->async = attr->flags & FI_EVENT;
	rfi_lock_init(&av->lock, domain->no_locks);
	rfi_lock_init(&av->eps_lock, domain->no_locks);
	ru_list_init(&av->eps);
	av->domain = domain;
	rfi_ref_get(&domain->ref);
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fid_ops;
	av->fid.ops = &av_ops;
	*out = &av->fid;
	return 0;
}
