/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queue, see cq.h. Errors lie in the ring among the successes, in
 * order: a read stops before one and says -FI_EAVAIL when it is the first.
 */
#include <config.h>

#include "prov/cq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prov/ep.h"
#include "util/log.h"

/* A full queue is polled behind at each 16th read. */
#define READS_PER_POLL	16
#define RING_MAX	(1u << 30)

static const uint32_t format_bytes[] = {
	[FI_CQ_FORMAT_UNSPEC] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
	[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
	[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
};

/* ---- ring ----------------------------------------------------------- */

int rfi_cq_grow_locked(struct rfi_cq *cq)
{
	uint32_t size = cq->mask + 1, i;
	struct rfi_cq_entry *ring;

	ring = size < RING_MAX ? malloc(2 * (size_t)size * sizeof(*ring)) :
				 NULL;
	if (!ring) {
		if (!cq->overrun)
			RU_ERR("cq", "no memory for more than %u completions: "
			       "some are lost", size);
		cq->overrun = true;
		return -FI_ENOMEM;
	}
	for (i = 0; i < size; i++)
		ring[i] = cq->ring[(cq->head + i) & cq->mask];
	free(cq->ring);
	cq->ring = ring;
	cq->head = 0;
	cq->tail = size;
	cq->mask = 2 * size - 1;
	return 0;
}

uint32_t rfi_cq_count(struct rfi_cq *cq)
{
	uint32_t n;

	rfi_lock_acquire(&cq->lock);
	n = cq->tail - cq->head;
	rfi_lock_release(&cq->lock);
	return n;
}

bool rfi_cq_empty(struct rfi_cq *cq)
{
	return !rfi_cq_count(cq);
}

void rfi_cq_progress(struct rfi_cq *cq)
{
	struct ru_list *l;

	if (!rfi_lock_try(&cq->eps_lock))
		return;
	ru_list_for_each(l, &cq->eps)
		rfi_ep_progress(ru_list_entry(l, struct rfi_cq_link, link)->ep);
	rfi_lock_release(&cq->eps_lock);
}

/* ---- reading -------------------------------------------------------- */

/*
 * By words, as the entry was written a moment ago: a wider load of several
 * young stores has to wait until they are in the cache.
 */
static inline void entry_copy(void *out, const struct rfi_cq_entry *e,
			      uint32_t bytes)
{
	uint64_t *d = out;
	const uint64_t *s = (const uint64_t *)(const void *)e;
	uint32_t i;

	for (i = 0; i < bytes / 8; i++) {
		d[i] = s[i];
		ru_compiler_barrier();
	}
}

/* As many as there are. *stop_out: why there are no more, 0 if count is. */
static size_t cq_take_locked(struct rfi_cq *cq, void *buf, size_t count,
			     fi_addr_t *src, ssize_t *stop_out)
{
	char *out = buf;
	size_t n = 0;

	for (;;) {
		const struct rfi_cq_entry *e = &cq->ring[cq->head & cq->mask];

		if (cq->head == cq->tail) {
			*stop_out = cq->overrun ? -FI_EOVERRUN : -FI_EAGAIN;
			break;
		}
		if (ru_unlikely(e->err)) {
			*stop_out = -FI_EAVAIL;
			break;
		}
		if (n == count) {
			*stop_out = 0;
			break;
		}
		if (ru_likely(cq->entry_bytes ==
			      sizeof(struct fi_cq_tagged_entry)))
			entry_copy(out + n * sizeof(struct fi_cq_tagged_entry),
				   e, sizeof(struct fi_cq_tagged_entry));
		else
			entry_copy(out + n * cq->entry_bytes, e,
				   cq->entry_bytes);
		if (src)
			src[n] = e->src;
		n++;
		cq->head++;
	}
	return n;
}

static ssize_t cq_take(struct rfi_cq *cq, void *buf, size_t count,
		       fi_addr_t *src)
{
	ssize_t stop;
	size_t n;

	rfi_lock_acquire(&cq->lock);
	n = cq_take_locked(cq, buf, count, src, &stop);
	cq->drained = n && cq->head == cq->tail;
	rfi_lock_release(&cq->lock);
	return n ? (ssize_t)n : stop;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count,
			   fi_addr_t *src)
{
	struct rfi_cq *cq = ru_container_of(fid, struct rfi_cq, fid);
	bool poll, enough;

	rfi_lock_acquire(&cq->lock);
	poll = cq->head == cq->tail || ++cq->reads % READS_PER_POLL == 0;
	enough = cq->drained && cq->head == cq->tail && buf;
	cq->drained = false;
	rfi_lock_release(&cq->lock);
	if (enough)
		return -FI_EAGAIN;
	if (poll)
		rfi_cq_progress(cq);
	return cq_take(cq, buf, count, src);
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf,
			  uint64_t flags)
{
	struct rfi_cq *cq = ru_container_of(fid, struct rfi_cq, fid);
	const struct rfi_cq_entry *e;
	ssize_t ret = -FI_EAGAIN;

	(void)flags;
	rfi_lock_acquire(&cq->lock);
	e = &cq->ring[cq->head & cq->mask];
	if (cq->head != cq->tail && e->err) {
		buf->op_context = e->e.op_context;
		buf->flags = e->e.flags;
		buf->len = e->e.len;
		buf->buf = e->e.buf;
		buf->data = e->e.data;
		buf->tag = e->e.tag;
		buf->olen = e->olen;
		buf->err = e->err;
		buf->prov_errno = e->prov_errno;
		buf->err_data_size = 0;
		cq->head++;
		ret = 1;
	}
	rfi_lock_release(&cq->lock);
	return ret;
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
			    fi_addr_t *src, const void *cond, int timeout_ms)
{
	struct rfi_cq *cq = ru_container_of(fid, struct rfi_cq, fid);
	uint32_t want = 1;
	ssize_t ret;

	ret = cq_readfrom(fid, buf, count, src);
	if (ret != -FI_EAGAIN)
		return ret;
	if (cq->wait_cond == FI_CQ_COND_THRESHOLD && cond)
		want = (uint32_t)ru_max(ru_min(*(const size_t *)cond, count),
					1);
	ret = rfi_cq_wait(cq, want, timeout_ms);
	if (ret && ret != -FI_EAGAIN)
		return ret;
	return cq_take(cq, buf, count, src);
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count,
			const void *cond, int timeout_ms)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout_ms);
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno,
			       const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(prov_errno < 0 ? -prov_errno :
							prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len)
		snprintf(buf, len, "%s", text);
	return text;
}

/* ---- object --------------------------------------------------------- */

int rfi_cq_attach(struct rfi_cq *cq, struct rfi_cq_link *link, int channel_fd)
{
	int ret = 0;

	rfi_lock_acquire(&cq->eps_lock);
	if (channel_fd >= 0)
		ret = rfi_cq_wait_add(cq, channel_fd);
	if (!ret)
		ru_list_add_tail(&cq->eps, &link->link);
	rfi_lock_release(&cq->eps_lock);
	return ret;
}

void rfi_cq_detach(struct rfi_cq *cq, struct rfi_cq_link *link, int channel_fd)
{
	rfi_lock_acquire(&cq->eps_lock);
	if (channel_fd >= 0)
		rfi_cq_wait_del(cq, channel_fd);
	ru_list_del(&link->link);
	rfi_lock_release(&cq->eps_lock);
}

static int cq_close(struct fid *fid)
{
	struct rfi_cq *cq = ru_container_of(fid, struct rfi_cq, fid.fid);

	if (rfi_ref_busy(&cq->ref))
		return -FI_EBUSY;
	rfi_cq_wait_fini(cq);
	rfi_ref_put(&cq->domain->ref);
	free(cq->ring);
	free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct rfi_cq *cq = ru_container_of(fid, struct rfi_cq, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (cq->wait_obj != FI_WAIT_FD)
			return -FI_ENODATA;
		*(int *)arg = cq->wait_fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = cq->wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = cq_close,
	.bind = rfi_nosys_bind,
	.control = cq_control,
	.ops_open = rfi_nosys_ops_open,
	.tostr = rfi_nosys_tostr,
	.ops_set = rfi_nosys_ops_set,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = rfi_cq_signal,
	.strerror = cq_strerror,
};

int rfi_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
		struct fid_cq **out, void *context)
{
	struct rfi_domain *domain =
		ru_container_of(fid, struct rfi_domain, fid);
	struct rfi_cq *cq;
	uint64_t size;
	int ret;

	if (attr->format >= RU_ARRAY_SIZE(format_bytes))
		return -FI_ENOSYS;
	if (attr->flags & ~(uint64_t)FI_AFFINITY)
		return -FI_EBADFLAGS;
	size = ru_roundup_pow2(attr->size ? attr->size : RFI_CQ_SIZE);
	if (!size || size > RING_MAX / 2)
		return -FI_EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->ring = malloc(size * sizeof(*cq->ring));
	ret = cq->ring ? rfi_cq_wait_init(cq, attr->wait_obj) : -FI_ENOMEM;
	if (ret) {
		free(cq->ring);
		free(cq);
		return ret;
	}
	if (attr->format == FI_CQ_FORMAT_UNSPEC)
		attr->format = FI_CQ_FORMAT_CONTEXT;
	cq->mask = (uint32_t)size - 1;
	cq->entry_bytes = format_bytes[attr->format];
	cq->wait_cond = attr->wait_cond;
	rfi_lock_init(&cq->lock, domain->no_locks);
	rfi_lock_init(&cq->eps_lock, domain->no_locks);
	ru_list_init(&cq->eps);
	cq->domain = domain;
	rfi_ref_get(&domain->ref);
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	*out = &cq->fid;
	return 0;
}
