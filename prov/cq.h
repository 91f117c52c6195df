/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queue: a private ring of entries that grows when it is full, so
 * that nothing is lost while a program does not read. Reading moves the bound
 * endpoints along; they push.
 *
 * An entry starts with struct fi_cq_tagged_entry, of which the other formats
 * are prefixes, so each format is read by one copy of its size.
 */
#ifndef RFI_CQ_H
#define RFI_CQ_H

#include "prov/rfi.h"

struct rfi_ep;

struct rfi_cq_entry {
	struct fi_cq_tagged_entry e;
	union {
		fi_addr_t src;
		uint64_t olen;		/* of an error */
	};
	int32_t err;			/* FI_E..., 0: a success */
	int32_t prov_errno;
};

_Static_assert(sizeof(struct rfi_cq_entry) == RU_CACHELINE, "one line");

/* In rfi_cq.eps; an endpoint has one for each queue it is bound to. */
struct rfi_cq_link {
	struct ru_list link;
	struct rfi_ep *ep;
};

struct rfi_cq {
	struct fid_cq fid;
	struct rfi_lock lock;		/* ring, head, tail, mask */
	struct rfi_cq_entry *ring;
	uint32_t head;
	uint32_t tail;
	uint32_t mask;
	uint32_t entry_bytes;		/* as the program reads it */
	uint32_t reads;			/* to poll now and then when not empty */
	bool overrun;			/* an entry was lost: no memory */
	/*
	 * The last read took all there was. Programs that read until there is
	 * nothing are told so once without another look at the endpoints.
	 */
	bool drained;
	atomic_bool armed;		/* somebody sleeps: write wake_fd */
	atomic_bool signaled;		/* fi_cq_signal */
	int wake_fd;			/* eventfd; -1 without wait object */
	int wait_fd;			/* epoll: wake_fd, channels of eps */
	enum fi_wait_obj wait_obj;
	enum fi_cq_wait_cond wait_cond;
	struct rfi_domain *domain;
	struct rfi_ref ref;
	struct rfi_lock eps_lock;
	struct ru_list eps;		/* rfi_cq_link */
};

int rfi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		struct fid_cq **cq, void *context);
/* For ep.c; channel_fd is -1 when the queue has no wait object. */
int rfi_cq_attach(struct rfi_cq *cq, struct rfi_cq_link *link, int channel_fd);
void rfi_cq_detach(struct rfi_cq *cq, struct rfi_cq_link *link, int channel_fd);

/* Doubles the ring; marks the queue overrun when there is no memory. */
int rfi_cq_grow_locked(struct rfi_cq *cq);
/* Poll each bound endpoint, unless another thread does. */
void rfi_cq_progress(struct rfi_cq *cq);
bool rfi_cq_empty(struct rfi_cq *cq);
uint32_t rfi_cq_count(struct rfi_cq *cq);

/* wait.c */
int rfi_cq_wait_init(struct rfi_cq *cq, enum fi_wait_obj wait_obj);
void rfi_cq_wait_fini(struct rfi_cq *cq);
int rfi_cq_wait_add(struct rfi_cq *cq, int channel_fd);
void rfi_cq_wait_del(struct rfi_cq *cq, int channel_fd);
void rfi_cq_wake(struct rfi_cq *cq);
/* 0: asleep is safe; -FI_EAGAIN: something is there or came. */
int rfi_cq_trywait(struct rfi_cq *cq);
/* Until it holds `want` entries, is signaled or the time is over. */
int rfi_cq_wait(struct rfi_cq *cq, uint32_t want, int timeout_ms);
int rfi_cq_signal(struct fid_cq *fid);
int rfi_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

/* Where the next entry goes, locked until rfi_cq_pushed(); NULL: lost. */
static inline struct rfi_cq_entry *rfi_cq_push(struct rfi_cq *cq)
{
	rfi_lock_acquire(&cq->lock);
	if (ru_likely(cq->tail - cq->head <= cq->mask ||
		      !rfi_cq_grow_locked(cq)))
		return &cq->ring[cq->tail++ & cq->mask];
	return NULL;
}

static inline void rfi_cq_pushed(struct rfi_cq *cq)
{
	/* Under the lock: wait.c says why. */
	bool armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);

	rfi_lock_release(&cq->lock);
	if (ru_unlikely(armed))
		rfi_cq_wake(cq);
}

static inline void rfi_cq_put(struct rfi_cq *cq,
			      const struct rfi_cq_entry *entry)
{
	struct rfi_cq_entry *e = rfi_cq_push(cq);

	if (ru_likely(e != NULL))
		*e = *entry;
	rfi_cq_pushed(cq);
}

#endif
