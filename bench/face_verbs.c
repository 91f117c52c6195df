/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC Sends through the calls of libibverbs, on whichever library the loader
 * finds: under `rosm run` rosm's. Same shape as face_engine_rc.c, so that the
 * difference of the two is the face's. The device is -p NAME, "rosm0" if none
 * is named.
 */
#include <config.h>

#include "bench/lib/loops.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 256, BATCH = 32, POLL = 16, INLINE = 64, PORT = 1 };

struct verbs_end {
	struct bench_end e;
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_sge to, from;
	uint64_t posted, done;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *buf;
};

struct card {
	uint32_t qpn;
	uint16_t lid;
	union ibv_gid gid;
};

static void do_post(struct bench_end *e, size_t size)
{
	struct verbs_end *v = (struct verbs_end *)e;
	struct ibv_recv_wr wr = { .sg_list = &v->to, .num_sge = 1 }, *bad;

	v->to.length = (uint32_t)size;
	bench_need(-ibv_post_recv(v->qp, &wr, &bad), "ibv_post_recv");
}

static void do_poll(struct bench_end *e)
{
	struct verbs_end *v = (struct verbs_end *)e;
	struct ibv_wc wc[POLL];
	int i, n = bench_need(ibv_poll_cq(v->cq, POLL, wc), "ibv_poll_cq");

	for (i = 0; i < n; i++) {
		if (wc[i].status != IBV_WC_SUCCESS)
			bench_fail(ibv_wc_status_str(wc[i].status), 0);
		if (wc[i].opcode & IBV_WC_RECV)
			e->received++;
		else
			v->done = wc[i].wr_id;
	}
}

static void do_send(struct bench_end *e, size_t size)
{
	struct verbs_end *v = (struct verbs_end *)e;
	struct ibv_send_wr wr = {
		.wr_id = ++v->posted,
		.opcode = IBV_WR_SEND,
		.sg_list = &v->from,
		.num_sge = 1,
	}, *bad;

	v->from.length = (uint32_t)size;
	if (size <= INLINE)
		wr.send_flags |= IBV_SEND_INLINE;
	if (v->posted % BATCH == 0)
		wr.send_flags |= IBV_SEND_SIGNALED;
	while (v->posted - v->done > DEPTH - BATCH)
		do_poll(e);
	bench_need(-ibv_post_send(v->qp, &wr, &bad), "ibv_post_send");
	e->sent++;
}

static const struct bench_ops ops = {
	.post = do_post,
	.send = do_send,
	.poll = do_poll,
};
BENCH_LOOPS(ops)

static struct ibv_context *device(const char *name)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	int i, n = 0;

	list = ibv_get_device_list(&n);
	for (i = 0; list && i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!ctx)
		bench_fail("no such verbs device (use `rosm run`?)", -ENODEV);
	return ctx;
}

static void to_rts(struct verbs_end *v, const struct card *c, int by_gid)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = PORT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE,
	};

	bench_need(-ibv_modify_qp(v->qp, &a, IBV_QP_STATE | IBV_QP_PORT |
				  IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS),
		   "INIT");
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = c->qpn;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 12;
	a.ah_attr.dlid = c->lid;
	a.ah_attr.port_num = PORT;
	if (by_gid) {
		a.ah_attr.is_global = 1;
		a.ah_attr.grh.dgid = c->gid;
		a.ah_attr.grh.hop_limit = 1;
	}
	bench_need(-ibv_modify_qp(v->qp, &a, IBV_QP_STATE | IBV_QP_AV |
				  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER), "RTR");
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	bench_need(-ibv_modify_qp(v->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT |
				  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
		   "RTS");
}

static void *need(void *p, const char *what)
{
	if (!p)
		bench_fail(what, -errno);
	return p;
}

static void *open_end(struct bench_pair *pair, size_t max_bytes,
		      const char *provider)
{
	struct ibv_qp_init_attr init = {
		.cap = { DEPTH, DEPTH, 1, 1, INLINE },
		.qp_type = IBV_QPT_RC,
	};
	struct verbs_end *v = aligned_alloc(64, (sizeof(*v) + 63) & ~(size_t)63);
	struct card mine, theirs;
	struct ibv_port_attr port;

	need(v, "out of memory");
	memset(v, 0, sizeof(*v));
	memset(&mine, 0, sizeof(mine));
	v->ctx = device(provider ? provider : "rosm0");
	v->pd = need(ibv_alloc_pd(v->ctx), "ibv_alloc_pd");
	v->cq = need(ibv_create_cq(v->ctx, 4 * DEPTH, NULL, NULL, 0),
		     "ibv_create_cq");
	init.send_cq = init.recv_cq = v->cq;
	v->qp = need(ibv_create_qp(v->pd, &init), "ibv_create_qp");
	v->buf = need(aligned_alloc(4096, 2 * ((max_bytes + 4095) &
					       ~(size_t)4095)), "memory");
	memset(v->buf, pair->rank + 1, 2 * max_bytes);
	v->mr = need(ibv_reg_mr(v->pd, v->buf, 2 * max_bytes,
				IBV_ACCESS_LOCAL_WRITE), "ibv_reg_mr");
	v->from.addr = (uintptr_t)v->buf;
	v->to.addr = v->from.addr + max_bytes;
	v->from.lkey = v->to.lkey = v->mr->lkey;
	bench_need(-ibv_query_port(v->ctx, PORT, &port), "ibv_query_port");
	bench_need(-ibv_query_gid(v->ctx, PORT, 0, &mine.gid), "ibv_query_gid");
	mine.qpn = v->qp->qp_num;
	mine.lid = port.lid;
	bench_swap(pair, &mine, &theirs, sizeof(mine));
	to_rts(v, &theirs, port.link_layer == IBV_LINK_LAYER_ETHERNET);
	bench_barrier(pair);
	return v;
}

static void close_end(void *end)
{
	struct verbs_end *v = end;

	bench_need(-ibv_destroy_qp(v->qp), "ibv_destroy_qp");
	bench_need(-ibv_dereg_mr(v->mr), "ibv_dereg_mr");
	bench_need(-ibv_destroy_cq(v->cq), "ibv_destroy_cq");
	bench_need(-ibv_dealloc_pd(v->pd), "ibv_dealloc_pd");
	bench_need(-ibv_close_device(v->ctx), "ibv_close_device");
	free(v->buf);
	free(v);
}

const struct bench_face bench_face_verbs = {
	.name = "verbs",
	.help = "RC queue pairs of libibverbs, device -p (rosm0)",
	.open = open_end,
	.pingpong = pingpong,
	.stream = stream,
	.close = close_end,
};
