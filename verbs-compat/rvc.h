/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every file of the verbs face shares: exported names, errno, and the
 * question whose object an argument is. An exported function has its ABI name
 * and is marked RVC_EXPORT; its version comes from symbols.tab. The verbs
 * convention of errors (errno set, value returned) lives here and nowhere
 * deeper: the engine answers -errno.
 */
#ifndef RVC_H
#define RVC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "verbs-compat/newapi.h"

/* The header turns these names into macros for the application's side. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define RVC_EXPORT __attribute__((visibility("default")))

/*
 * The device as applications see it. What lies behind struct ibv_device is
 * read by the direct-verbs libraries of vendors (a pointer to the provider's
 * ops, compared with their own), hence the shape: see abi_check.c.
 */
struct rvc_device {
	struct ibv_device ibdev;
	const void *provider_ops;	/* of nobody: NULL */
	int refcount;
	void *entry[2];
	void *sysfs;			/* NULL: not from the kernel */
	uint64_t core_support;
	uint64_t guid;			/* of the node, network order */
};

/* Our devices, a static table. Returns how many there are. */
int rvc_devices(struct rvc_device **table_out);

/* Whether it lies in that table. */
bool rvc_is_own_device(const struct ibv_device *ibdev);

/* The owner mark of a context: what its ops.poll_cq points to. */
int rvc_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/* A context of the system's library, and so everything made from it. */
static inline bool rvc_foreign(const struct ibv_context *context)
{
	return context->ops.poll_cq != rvc_poll_cq;
}

/* Verbs that return an int give the errno value; err > 0. */
static inline int rvc_err(int err)
{
	errno = err;
	return err;
}

/* Some return -1. */
static inline int rvc_minus_one(int err)
{
	errno = err;
	return -1;
}

static inline void *rvc_null(int err)
{
	errno = err;
	return NULL;
}

#endif
