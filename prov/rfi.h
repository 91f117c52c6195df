/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects of the libfabric face: fabric, domain, MR, EQ and address vector,
 * and what all files of prov/ share. The completion queue is in prov/cq.h,
 * the endpoint in prov/ep.h.
 *
 * Every object is one heap block that starts with its fid; whoever uses an
 * object holds a reference, and close answers -FI_EBUSY while there is one.
 * Locks are taken in this order: rfi_av.eps_lock, rfi_cq.eps_lock, rfi_ep.lock,
 * rfi_av.lock, rfi_cq.lock. A domain opened with FI_THREAD_DOMAIN takes none.
 */
#ifndef RFI_RFI_H
#define RFI_RFI_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

#include "engine/rosm.h"
#include "util/compiler.h"
#include "util/list.h"
#include "util/lock.h"

#define RFI_FABRIC_NAME		"rosm"
#define RFI_IOV_LIMIT		ROSM_RD_IOV
#define RFI_CQ_SIZE		1024
#define RFI_TX_SIZE		4096
#define RFI_RX_SIZE		65536

/* Private values of libfabric's open enumerations: 'R', 'm'. */
#define RFI_PROV_SPECIFIC	(1u << 31)
#define RFI_ADDR_FORMAT		(RFI_PROV_SPECIFIC | 0x526d)
#define RFI_PROTO		(RFI_PROV_SPECIFIC | 0x526d)
#define RFI_PROTO_VERSION	1

/* Names that libfabric 2 warns about; programs still use the values. */
#define RFI_MR_UNSPEC		0
#define RFI_MR_BASIC		(1 << 0)
#define RFI_MR_SCALABLE		(1 << 1)
#define RFI_ORDER_DATA		(UINT64_C(1) << 16)

/* All 64 bits are the program's (FI_TAG_GENERIC of older headers). */
#define RFI_TAG_FORMAT		UINT64_C(0xaaaaaaaaaaaaaaaa)

/*
 * A lock that can be left out. Who polls takes it in turn with calls that
 * want something: a poll loop that gives up the lock for moments only, and
 * the core while it holds it, would keep them out for ever.
 */
struct rfi_lock {
	struct ru_lock lock;
	atomic_uint waiters;
	bool off;
};

static inline void rfi_lock_init(struct rfi_lock *l, bool off)
{
	ru_lock_init(&l->lock);
	atomic_init(&l->waiters, 0);
	l->off = off;
}

static inline void rfi_lock_acquire(struct rfi_lock *l)
{
	if (l->off || ru_likely(ru_lock_try(&l->lock)))
		return;
	atomic_fetch_add_explicit(&l->waiters, 1, memory_order_relaxed);
	ru_lock_acquire(&l->lock);
	atomic_fetch_sub_explicit(&l->waiters, 1, memory_order_relaxed);
}

/* For polls: false while another thread has it or waits for it. */
static inline bool rfi_lock_try(struct rfi_lock *l)
{
	if (l->off)
		return true;
	if (ru_unlikely(atomic_load_explicit(&l->waiters,
					     memory_order_relaxed))) {
		sched_yield();
		return false;
	}
	return ru_lock_try(&l->lock);
}

static inline void rfi_lock_release(struct rfi_lock *l)
{
	if (!l->off)
		ru_lock_release(&l->lock);
}

/* For others that use an object. */
struct rfi_ref {
	atomic_int count;
};

static inline void rfi_ref_get(struct rfi_ref *r)
{
	atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed);
}

static inline void rfi_ref_put(struct rfi_ref *r)
{
	atomic_fetch_sub_explicit(&r->count, 1, memory_order_release);
}

static inline bool rfi_ref_busy(struct rfi_ref *r)
{
	return atomic_load_explicit(&r->count, memory_order_acquire) != 0;
}

/* ---- provider (fabric.c) and what it offers (info.c) ----------------- */

extern struct fi_provider rfi_provider;

struct rfi_fabric {
	struct fid_fabric fid;
	struct rfi_ref ref;
};

int rfi_getinfo(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints,
		struct fi_info **info_out);

/* Largest message that is sent at once, and injected. */
size_t rfi_inject_size(void);

/* ---- addresses (addr.c) --------------------------------------------- */

/*
 * A record of ROSM_NAME_BYTES: the name of an endpoint as the engine writes
 * it, or, starting with other letters, a service that is looked up at first
 * use ("port 9228 of this node").
 */
bool rfi_addr_valid(const void *addr, size_t len);
bool rfi_addr_is_service(const void *addr);
/* The source address that binds nothing; valid for that only. */
bool rfi_addr_is_any(const void *addr, size_t len);
void rfi_addr_make_any(uint8_t addr_out[ROSM_NAME_BYTES]);
/* NULL unless it is a service. */
const char *rfi_addr_service(const void *addr);
/* Of node and service strings, either may be NULL. -FI_EINVAL: neither. */
int rfi_addr_make(const char *node, const char *service,
		  uint8_t addr_out[ROSM_NAME_BYTES]);
/* A socket address as programs put into hints; -FI_EINVAL for others. */
int rfi_addr_make_sockaddr(const void *sa, size_t len,
			   uint8_t addr_out[ROSM_NAME_BYTES]);
/* As snprintf. */
int rfi_addr_print(const void *addr, char *buf, size_t len);

/* ---- domain (domain.c), memory regions (mr.c) ------------------------ */

struct rfi_domain {
	struct fid_domain fid;
	struct rfi_fabric *fabric;
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
	struct rfi_ref ref;
	uint64_t caps;
	int mr_mode;
	bool no_locks;
};

int rfi_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_domain **domain, void *context);

extern struct fi_ops_mr rfi_mr_ops;

/* ---- event queue (eq.c) --------------------------------------------- */

struct rfi_eq {
	struct fid_eq fid;
	struct rfi_fabric *fabric;
	struct rfi_ref ref;
	struct ru_lock lock;
	struct ru_list events;	/* of struct eq_event */
	enum fi_wait_obj wait_obj;
	int wake_fd;		/* counts the events */
};

int rfi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		struct fid_eq **eq, void *context);
/* The queue keeps a copy. -FI_ENOMEM. */
int rfi_eq_post(struct rfi_eq *eq, uint32_t event, const void *buf, size_t len);
int rfi_eq_post_err(struct rfi_eq *eq, const struct fi_eq_err_entry *err);

/* ---- address vector (av.c) ------------------------------------------ */

struct rfi_av_entry {
	uint8_t addr[ROSM_NAME_BYTES];
	uint32_t next;		/* in the hash by address; index + 1 */
	bool used;
};

struct rfi_av {
	struct fid_av fid;
	struct rfi_domain *domain;
	struct rfi_eq *eq;
	struct rfi_ref ref;
	struct rfi_lock lock;		/* all below up to eps_lock */
	struct rfi_av_entry *entries;
	uint32_t *buckets;		/* index + 1 of the first */
	uint32_t bucket_bits;
	uint32_t capacity;
	uint32_t used;
	uint32_t lowest_free;
	bool async;
	enum fi_av_type type;
	struct rfi_lock eps_lock;
	struct ru_list eps;		/* rfi_ep.av_link */
};

int rfi_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
		struct fid_av **av, void *context);
/* Copies the address; -FI_EINVAL when there is none at this place. */
int rfi_av_address(struct rfi_av *av, fi_addr_t index,
		   uint8_t addr_out[ROSM_NAME_BYTES]);
/* Index of an address, FI_ADDR_NOTAVAIL when it was not inserted. */
fi_addr_t rfi_av_find(struct rfi_av *av, const uint8_t addr[ROSM_NAME_BYTES]);

/* ---- what is not offered (nosys.c) ---------------------------------- */

int rfi_nosys_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int rfi_nosys_control(struct fid *fid, int command, void *arg);
int rfi_nosys_ops_open(struct fid *fid, const char *name, uint64_t flags,
		       void **ops, void *context);
int rfi_nosys_tostr(const struct fid *fid, char *buf, size_t len);
int rfi_nosys_ops_set(struct fid *fid, const char *name, uint64_t flags,
		      void *ops, void *context);
extern struct fi_ops_atomic rfi_nosys_atomic;
extern struct fi_ops_rma rfi_nosys_rma;
extern struct fi_ops_msg rfi_nosys_msg;
extern struct fi_ops_tagged rfi_nosys_tagged;

#endif
