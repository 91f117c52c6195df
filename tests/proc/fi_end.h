/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a test over libfabric: the objects of a worker, opened on the
 * provider that was just built, and calls that wait. Every failure ends the
 * process like a failed CHECK.
 *
 * main() calls fi_end_load() before it starts workers: libfabric then looks
 * for providers once and not in each of them.
 */
#ifndef TESTS_PROC_FI_END_H
#define TESTS_PROC_FI_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "tests/lib/assert.h"
#include "tests/lib/mp.h"

#define FI_END_API	FI_VERSION(1, 15)

struct fi_end_opts {
	uint64_t caps;
	uint64_t bind_flags;		/* FI_SELECTIVE_COMPLETION or 0 */
	uint64_t tx_op_flags;
	uint64_t rx_op_flags;
	enum fi_wait_obj wait_obj;
	enum fi_av_type av_type;
	enum fi_cq_format format;	/* UNSPEC: tagged */
	const char *service;		/* to be bound */
};

struct fi_end {
	struct mp *mp;
	int rank;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t addr[MP_MAX];		/* of each rank */
};

void fi_end_load(void);
struct fi_info *fi_end_hints(const struct fi_end_opts *opts);

/* All objects; with mp the addresses of all ranks are exchanged. */
void fi_end_open(struct fi_end *e, struct mp *mp, int rank,
		 const struct fi_end_opts *opts);
void fi_end_close(struct fi_end *e);

/* Next completion, which must be a success. */
struct fi_cq_tagged_entry fi_end_wait(struct fi_end *e);
/* Next completion, which must be this error. */
struct fi_cq_err_entry fi_end_wait_err(struct fi_end *e, int err);
/* Moves things along; no completion may be there. */
void fi_end_quiet(struct fi_end *e);
/* Moves things along and takes nothing. */
void fi_end_progress(struct fi_end *e);

/* Whether a peer's memory can be reached without the peer's calls. */
bool fi_end_passive(struct fi_end *e, int peer);
/* Moves things along until the peer says fi_end_served(). */
void fi_end_serve(struct fi_end *e, int peer);
void fi_end_served(struct fi_end *e, int peer);

/* Repeat a call as long as it says -FI_EAGAIN; its last result. */
#define FI_END_AGAIN(e, call)						\
	(__extension__({						\
		ssize_t ret_;						\
		while ((ret_ = (call)) == -FI_EAGAIN)			\
			fi_end_progress(e);				\
		ret_;							\
	}))

/* Bytes that tell buffers, senders and places in them apart. */
void fi_end_fill(void *buf, size_t len, uint32_t seed);
void fi_end_check(const void *buf, size_t len, uint32_t seed);

#endif
