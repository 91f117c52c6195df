/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a test over libfabric, see fi_end.h.
 */
#include <config.h>

#include "tests/proc/fi_end.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum { NAME_BYTES = 64 };

void fi_end_load(void)
{
	struct fi_info *info;

	CHECK_OK(setenv("FI_PROVIDER_PATH", FI_END_PROVIDER_PATH, 1));
	CHECK_OK(setenv("FI_PROVIDER", "rosm", 1));
#ifdef FI_END_NO_CMA
	CHECK_OK(setenv("ROSM_MOVE_CMA", "0", 1));
#endif
	CHECK_OK(fi_getinfo(FI_END_API, NULL, NULL, 0, NULL, &info));
	CHECK_STR(info->fabric_attr->prov_name, "rosm");
	fi_freeinfo(info);
}

struct fi_info *fi_end_hints(const struct fi_end_opts *opts)
{
	struct fi_info *h = fi_allocinfo();

	CHECK(h);
	h->caps = opts->caps;
	h->mode = FI_CONTEXT;
	h->ep_attr->type = FI_EP_RDM;
	h->tx_attr->op_flags = opts->tx_op_flags;
	h->rx_attr->op_flags = opts->rx_op_flags;
	h->tx_attr->msg_order = FI_ORDER_SAS;
	h->rx_attr->msg_order = FI_ORDER_SAS;
	if (opts->caps & FI_RMA)
		h->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED |
					  FI_MR_VIRT_ADDR;
	h->domain_attr->av_type = opts->av_type;
	return h;
}

static void open_info(struct fi_end *e, const struct fi_end_opts *opts)
{
	struct fi_info *hints = fi_end_hints(opts);

	CHECK_OK(fi_getinfo(FI_END_API, NULL, opts->service,
			    opts->service ? FI_SOURCE : 0, hints, &e->info));
	fi_freeinfo(hints);
	CHECK_STR(e->info->fabric_attr->prov_name, "rosm");
	CHECK(!e->info->next);
}

static void exchange(struct fi_end *e)
{
	char names[MP_MAX][NAME_BYTES];
	size_t len = NAME_BYTES;
	int n = mp_size(e->mp), i;

	CHECK_OK(fi_getname(&e->ep->fid, names[e->rank], &len));
	CHECK_EQ(len, NAME_BYTES);
	for (i = 0; i < n; i++)
		if (i != e->rank)
			mp_send(e->mp, i, names[e->rank], len);
	for (i = 0; i < n; i++)
		if (i != e->rank)
			CHECK_EQ(mp_recv(e->mp, i, names[i], NAME_BYTES),
				 NAME_BYTES);
	CHECK_EQ(fi_av_insert(e->av, names, (size_t)n, e->addr, 0, NULL), n);
}

void fi_end_open(struct fi_end *e, struct mp *mp, int rank,
		 const struct fi_end_opts *opts)
{
	struct fi_cq_attr cq_attr = {
		.format = opts->format ? opts->format : FI_CQ_FORMAT_TAGGED,
		.wait_obj = opts->wait_obj,
	};
	struct fi_av_attr av_attr = { .type = opts->av_type };

	memset(e, 0, sizeof(*e));
	e->mp = mp;
	e->rank = rank;
	open_info(e, opts);
	CHECK_OK(fi_fabric(e->info->fabric_attr, &e->fabric, NULL));
	CHECK_OK(fi_domain(e->fabric, e->info, &e->domain, NULL));
	CHECK_OK(fi_av_open(e->domain, &av_attr, &e->av, NULL));
	CHECK_OK(fi_cq_open(e->domain, &cq_attr, &e->cq, NULL));
	CHECK_OK(fi_endpoint(e->domain, e->info, &e->ep, NULL));
	CHECK_OK(fi_ep_bind(e->ep, &e->av->fid, 0));
	CHECK_OK(fi_ep_bind(e->ep, &e->cq->fid,
			    FI_TRANSMIT | FI_RECV | opts->bind_flags));
	CHECK_OK(fi_enable(e->ep));
	if (mp)
		exchange(e);
}

void fi_end_close(struct fi_end *e)
{
	CHECK_OK(fi_close(&e->ep->fid));
	CHECK_OK(fi_close(&e->cq->fid));
	CHECK_OK(fi_close(&e->av->fid));
	CHECK_OK(fi_close(&e->domain->fid));
	CHECK_OK(fi_close(&e->fabric->fid));
	fi_freeinfo(e->info);
}

struct fi_cq_tagged_entry fi_end_wait(struct fi_end *e)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	ssize_t ret;

	while ((ret = fi_cq_read(e->cq, &entry, 1)) == -FI_EAGAIN)
		sched_yield();
	if (ret == -FI_EAVAIL) {
		CHECK_EQ(fi_cq_readerr(e->cq, &err, 0), 1);
		check_failed(__FILE__, __LINE__, "rank %d: completion of %p "
			     "is the error %d (%s)", e->rank, err.op_context,
			     err.err, fi_strerror(err.err));
	}
	CHECK_EQ(ret, 1);
	return entry;
}

struct fi_cq_err_entry fi_end_wait_err(struct fi_end *e, int want)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	ssize_t ret;

	while ((ret = fi_cq_read(e->cq, &entry, 1)) == -FI_EAGAIN)
		sched_yield();
	CHECK_EQ(ret, -FI_EAVAIL);
	CHECK_EQ(fi_cq_readerr(e->cq, &err, 0), 1);
	CHECK_EQ(err.err, want);
	return err;
}

bool fi_end_passive(struct fi_end *e, int peer)
{
	static uint8_t here, there;
	struct iovec mine = { &here, 1 }, theirs = { &there, 1 };

#ifdef FI_END_NO_CMA
	return false;
#endif
	return process_vm_readv(mp_pid(e->mp, peer), &mine, 1, &theirs, 1,
				0) == 1;
}

void fi_end_serve(struct fi_end *e, int peer)
{
	uint8_t word;
	ssize_t ret;

	while ((ret = mp_recv_timeout(e->mp, peer, &word, 1, 1)) == -ETIMEDOUT)
		fi_end_progress(e);
	CHECK_EQ(ret, 1);
}

void fi_end_served(struct fi_end *e, int peer)
{
	uint8_t word = 0;

	mp_send(e->mp, peer, &word, 1);
}

void fi_end_progress(struct fi_end *e)
{
	CHECK_OP(fi_cq_read(e->cq, NULL, 0), <=, 0);
	sched_yield();
}

void fi_end_quiet(struct fi_end *e)
{
	struct fi_cq_tagged_entry entry;

	CHECK_EQ(fi_cq_read(e->cq, &entry, 1), -FI_EAGAIN);
}

static uint8_t pattern(size_t at, uint32_t seed)
{
	return (uint8_t)(at * 31 + (at >> 8) * 7 + seed * 101 + 13);
}

void fi_end_fill(void *buf, size_t len, uint32_t seed)
{
	uint8_t *b = buf;
	size_t i;

	for (i = 0; i < len; i++)
		b[i] = pattern(i, seed);
}

void fi_end_check(const void *buf, size_t len, uint32_t seed)
{
	const uint8_t *b = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (b[i] != pattern(i, seed))
			check_failed(__FILE__, __LINE__, "byte %zu of %zu is "
				     "0x%02x, wanted 0x%02x (seed %u)", i, len,
				     b[i], pattern(i, seed), seed);
}
