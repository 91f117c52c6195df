/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tagged messages of libfabric over a reliable datagram endpoint of the
 * provider -p (or what FI_PROVIDER says), used as MPI libraries do: a message
 * of up to the provider's inject_size goes by fi_tinject, others by fi_tsend.
 */
#include <config.h>

#include "bench/lib/loops.h"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>
#include <string.h>

enum { POLL = 16, TAG = 7, NAME_BYTES = 256, CONTEXTS = 4 * BENCH_WINDOW };

struct fabric_end {
	struct bench_end e;
	struct fid_ep *ep;
	struct fid_cq *cq;
	fi_addr_t peer;
	size_t inject;
	char *from, *to;
	void *desc;
	unsigned int next;
	struct fi_context2 context[CONTEXTS];
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_mr *mr;
	size_t max_bytes;
};

struct card {
	size_t len;
	char name[NAME_BYTES];
};

static void do_poll(struct bench_end *e)
{
	struct fabric_end *f = (struct fabric_end *)e;
	struct fi_cq_tagged_entry entry[POLL];
	struct fi_cq_err_entry err = { 0 };
	ssize_t i, n = fi_cq_read(f->cq, entry, POLL);

	if (n == -FI_EAVAIL) {
		fi_cq_readerr(f->cq, &err, 0);
		bench_fail(fi_strerror(err.err), 0);
	}
	if (n == -FI_EAGAIN)
		return;
	bench_need((int)n, "fi_cq_read");
	for (i = 0; i < n; i++) {
		if (entry[i].flags & FI_RECV)
			e->received++;
		else
			e->sent++;
	}
}

static void *next_context(struct fabric_end *f)
{
	return &f->context[f->next++ % CONTEXTS];
}

static void do_post(struct bench_end *e, size_t size)
{
	struct fabric_end *f = (struct fabric_end *)e;
	void *context = next_context(f);
	ssize_t rc;

	while ((rc = fi_trecv(f->ep, f->to, size, f->desc, f->peer, TAG, 0,
			      context)) == -FI_EAGAIN)
		do_poll(e);
	bench_need((int)rc, "fi_trecv");
}

static void do_send(struct bench_end *e, size_t size)
{
	struct fabric_end *f = (struct fabric_end *)e;
	void *context;
	ssize_t rc;

	if (size <= f->inject) {
		while ((rc = fi_tinject(f->ep, f->from, size, f->peer, TAG)) ==
		       -FI_EAGAIN)
			do_poll(e);
		bench_need((int)rc, "fi_tinject");
		e->sent++;
		return;
	}
	context = next_context(f);
	while ((rc = fi_tsend(f->ep, f->from, size, f->desc, f->peer, TAG,
			      context)) == -FI_EAGAIN)
		do_poll(e);
	bench_need((int)rc, "fi_tsend");
}

static const struct bench_ops ops = {
	.post = do_post,
	.send = do_send,
	.poll = do_poll,
	.wait_sent = 1,
};
BENCH_LOOPS(ops)

static void open_info(struct fabric_end *f, const char *provider)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		bench_fail("out of memory", 0);
	hints->caps = FI_TAGGED;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	if (provider)
		hints->fabric_attr->prov_name = strdup(provider);
	bench_need(fi_getinfo(FI_VERSION(1, 10), NULL, NULL, 0, hints,
			      &f->info), "fi_getinfo");
	fi_freeinfo(hints);
}

static void exchange(struct fabric_end *f, struct bench_pair *pair)
{
	struct card mine = { .len = NAME_BYTES }, theirs;

	bench_need(fi_getname(&f->ep->fid, mine.name, &mine.len), "fi_getname");
	bench_swap(pair, &mine, &theirs, sizeof(mine));
	if (fi_av_insert(f->av, theirs.name, 1, &f->peer, 0, NULL) != 1)
		bench_fail("fi_av_insert", 0);
}

static void open_buffers(struct fabric_end *f, size_t max_bytes, int rank)
{
	size_t whole = (max_bytes + 4095) & ~(size_t)4095;

	f->from = aligned_alloc(4096, 2 * whole);
	if (!f->from)
		bench_fail("out of memory", 0);
	f->to = f->from + whole;
	memset(f->from, rank + 1, 2 * whole);
	if (!(f->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return;
	bench_need(fi_mr_reg(f->domain, f->from, 2 * whole, FI_SEND | FI_RECV,
			     0, 0, 0, &f->mr, NULL), "fi_mr_reg");
	f->desc = fi_mr_desc(f->mr);
}

static void *open_end(struct bench_pair *pair, size_t max_bytes,
		      const char *provider)
{
	struct fi_cq_attr cq_attr = {
		.format = FI_CQ_FORMAT_TAGGED,
		.size = 8 * BENCH_WINDOW,
	};
	struct fi_av_attr av_attr = { .type = FI_AV_UNSPEC };
	struct fabric_end *f =
		aligned_alloc(64, (sizeof(*f) + 63) & ~(size_t)63);

	if (!f)
		bench_fail("out of memory", 0);
	memset(f, 0, sizeof(*f));
	open_info(f, provider);
	f->inject = f->info->tx_attr->inject_size;
	bench_need(fi_fabric(f->info->fabric_attr, &f->fabric, NULL),
		   "fi_fabric");
	bench_need(fi_domain(f->fabric, f->info, &f->domain, NULL),
		   "fi_domain");
	bench_need(fi_av_open(f->domain, &av_attr, &f->av, NULL), "fi_av_open");
	bench_need(fi_cq_open(f->domain, &cq_attr, &f->cq, NULL), "fi_cq_open");
	bench_need(fi_endpoint(f->domain, f->info, &f->ep, NULL),
		   "fi_endpoint");
	bench_need(fi_ep_bind(f->ep, &f->av->fid, 0), "fi_ep_bind");
	bench_need(fi_ep_bind(f->ep, &f->cq->fid, FI_TRANSMIT | FI_RECV),
		   "fi_ep_bind");
	bench_need(fi_enable(f->ep), "fi_enable");
	open_buffers(f, max_bytes, pair->rank);
	exchange(f, pair);
	return f;
}

static void close_end(void *end)
{
	struct fabric_end *f = end;

	bench_need(fi_close(&f->ep->fid), "fi_close");
	if (f->mr)
		bench_need(fi_close(&f->mr->fid), "fi_close");
	bench_need(fi_close(&f->cq->fid), "fi_close");
	bench_need(fi_close(&f->av->fid), "fi_close");
	bench_need(fi_close(&f->domain->fid), "fi_close");
	bench_need(fi_close(&f->fabric->fid), "fi_close");
	fi_freeinfo(f->info);
	free(f->from);
	free(f);
}

const struct bench_face bench_face_fabric = {
	.name = "fabric",
	.help = "tagged messages of libfabric, provider -p",
	.open = open_end,
	.pingpong = pingpong,
	.stream = stream,
	.close = close_end,
};
