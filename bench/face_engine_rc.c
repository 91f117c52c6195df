/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's RC queue pairs, called directly: what any face over them can
 * reach at best. One QP, one CQ, one registered buffer each side; each
 * BATCH-th send of a series is signaled, as programs of this world do it.
 */
#include <config.h>

#include "bench/lib/loops.h"

#include <stdlib.h>
#include <string.h>

#include "engine/rosm.h"

enum { DEPTH = 256, BATCH = 32, POLL = 16, INLINE = 64 };

struct rc_end {
	struct bench_end e;
	struct rosm_qp *qp;
	struct rosm_cq *cq;
	struct rosm_sge to, from;
	uint64_t posted, done;		/* sends; done by signaled ones */
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
	struct rosm_mr *mr;
	char *buf;
};

static void do_post(struct bench_end *e, size_t size)
{
	struct rc_end *r = (struct rc_end *)e;
	struct rosm_recv_wr wr = { .sg_list = &r->to, .num_sge = 1 };

	r->to.length = (uint32_t)size;
	bench_need(rosm_qp_post_recv(r->qp, &wr), "post_recv");
}

static void do_poll(struct bench_end *e)
{
	struct rc_end *r = (struct rc_end *)e;
	struct rosm_wc wc[POLL];
	int i, n = bench_need(rosm_cq_poll(r->cq, POLL, wc), "poll");

	for (i = 0; i < n; i++) {
		if (wc[i].status != ROSM_WC_SUCCESS)
			bench_fail("a completion has an error status", 0);
		if (wc[i].opcode & ROSM_WC_RECV)
			e->received++;
		else
			r->done = wc[i].wr_id;
	}
}

/*
 * The buffer is never changed, so a send counts at once, as long as no more
 * than the queue's depth are outstanding; large ones move data and count when
 * they are complete.
 */
static void do_send(struct bench_end *e, size_t size)
{
	struct rc_end *r = (struct rc_end *)e;
	struct rosm_send_wr wr = {
		.wr_id = ++r->posted,
		.opcode = ROSM_WR_SEND,
		.sg_list = &r->from,
		.num_sge = 1,
	};

	r->from.length = (uint32_t)size;
	if (size <= INLINE)
		wr.flags |= ROSM_SEND_INLINE;
	if (r->posted % BATCH == 0)
		wr.flags |= ROSM_SEND_SIGNALED;
	while (r->posted - r->done > DEPTH - BATCH)
		do_poll(e);
	bench_need(rosm_qp_post_send(r->qp, &wr), "post_send");
	e->sent++;
}

static const struct bench_ops ops = {
	.post = do_post,
	.send = do_send,
	.poll = do_poll,
};
BENCH_LOOPS(ops)

static void to_rts(struct rc_end *r, uint32_t qpn)
{
	struct rosm_qp_attr a;
	struct rosm_port port;

	bench_need(rosm_ctx_query_port(r->ctx, &port), "query_port");
	memset(&a, 0, sizeof(a));
	a.qp_state = ROSM_QPS_INIT;
	a.port_num = 1;
	a.qp_access_flags = ROSM_ACCESS_LOCAL_WRITE;
	bench_need(rosm_qp_modify(r->qp, &a, ROSM_QP_STATE | ROSM_QP_PORT |
				  ROSM_QP_PKEY_INDEX | ROSM_QP_ACCESS_FLAGS),
		   "INIT");
	a.qp_state = ROSM_QPS_RTR;
	a.path_mtu = 5;
	a.dest_qp_num = qpn;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 12;
	a.ah.dlid = port.lid;
	a.ah.port_num = 1;
	bench_need(rosm_qp_modify(r->qp, &a, ROSM_QP_STATE | ROSM_QP_AV |
				  ROSM_QP_PATH_MTU | ROSM_QP_DEST_QPN |
				  ROSM_QP_RQ_PSN | ROSM_QP_MAX_DEST_RD_ATOMIC |
				  ROSM_QP_MIN_RNR_TIMER), "RTR");
	a.qp_state = ROSM_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	bench_need(rosm_qp_modify(r->qp, &a, ROSM_QP_STATE | ROSM_QP_TIMEOUT |
				  ROSM_QP_RETRY_CNT | ROSM_QP_RNR_RETRY |
				  ROSM_QP_SQ_PSN | ROSM_QP_MAX_QP_RD_ATOMIC),
		   "RTS");
}

static void *open_end(struct bench_pair *pair, size_t max_bytes,
		      const char *provider)
{
	struct rosm_qp_init init = {
		.type = ROSM_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, INLINE },
	};
	struct rc_end *r = aligned_alloc(64, (sizeof(*r) + 63) & ~(size_t)63);
	uint32_t mine, theirs, cqe;

	(void)provider;
	if (!r)
		bench_fail("out of memory", 0);
	memset(r, 0, sizeof(*r));
	bench_need(rosm_ctx_open(&r->ctx), "rosm_ctx_open");
	bench_need(rosm_pd_alloc(r->ctx, &r->pd), "rosm_pd_alloc");
	bench_need(rosm_cq_create(r->ctx, 4 * DEPTH, NULL, r, &cqe, &r->cq),
		   "rosm_cq_create");
	init.send_cq = r->cq;
	init.recv_cq = r->cq;
	bench_need(rosm_qp_create(r->pd, &init, &r->qp), "rosm_qp_create");
	r->buf = aligned_alloc(4096, 2 * ((max_bytes + 4095) & ~(size_t)4095));
	if (!r->buf)
		bench_fail("out of memory", 0);
	memset(r->buf, pair->rank + 1, 2 * max_bytes);
	bench_need(rosm_mr_reg(r->pd, r->buf, 2 * max_bytes,
			       (uint64_t)(uintptr_t)r->buf,
			       ROSM_ACCESS_LOCAL_WRITE, &r->mr), "rosm_mr_reg");
	r->from.addr = (uint64_t)(uintptr_t)r->buf;
	r->to.addr = r->from.addr + max_bytes;
	r->from.lkey = r->to.lkey = rosm_mr_lkey(r->mr);
	mine = rosm_qp_num(r->qp);
	bench_swap(pair, &mine, &theirs, sizeof(mine));
	to_rts(r, theirs);
	bench_barrier(pair);
	return r;
}

static void close_end(void *end)
{
	struct rc_end *r = end;

	bench_need(rosm_qp_destroy(r->qp), "rosm_qp_destroy");
	bench_need(rosm_mr_dereg(r->mr), "rosm_mr_dereg");
	bench_need(rosm_cq_destroy(r->cq), "rosm_cq_destroy");
	bench_need(rosm_pd_free(r->pd), "rosm_pd_free");
	bench_need(rosm_ctx_close(r->ctx), "rosm_ctx_close");
	free(r->buf);
	free(r);
}

const struct bench_face bench_face_engine_rc = {
	.name = "engine-rc",
	.help = "RC queue pairs of the engine itself",
	.open = open_end,
	.pingpong = pingpong,
	.stream = stream,
	.close = close_end,
};
