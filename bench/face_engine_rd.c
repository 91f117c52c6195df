/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's reliable datagrams, called directly, without tag matching: a
 * message is copied or pulled into the buffer as it comes.
 */
#include <config.h>

#include "bench/lib/loops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rosm.h"

struct rd_end {
	struct bench_end e;
	struct rosm_rd *rd;
	struct rosm_rd_peer *peer;
	char *from, *to;
	size_t max_bytes;
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
};

static void do_post(struct bench_end *e, size_t size)
{
	(void)e;
	(void)size;	/* any message finds its buffer */
}

static void take(struct rd_end *r, struct rosm_rd_event *ev)
{
	struct iovec iov = { r->to, r->max_bytes };

	if (ev->payload) {
		memcpy(r->to, ev->payload,
		       ev->len < r->max_bytes ? ev->len : r->max_bytes);
		rosm_rd_release(r->rd, ev);
		if (ev->token.xfer)
			rosm_rd_answer(r->rd, ev->peer, &ev->token, 0);
	} else if (ev->token.xfer) {
		if (bench_need(rosm_rd_pull(r->rd, ev->peer, &ev->token,
					    ev->len, &iov, 1, r), "pull"))
			return;	/* counted when it is there */
	}
	r->e.received++;
}

static void do_poll(struct bench_end *e)
{
	struct rd_end *r = (struct rd_end *)e;
	struct rosm_rd_event ev;

	if (!rosm_rd_poll(r->rd, &ev))
		return;
	switch (ev.type) {
	case ROSM_RD_EV_MSG:
		take(r, &ev);
		break;
	case ROSM_RD_EV_SENT:
		bench_need(ev.status, "a send");
		e->sent++;
		break;
	case ROSM_RD_EV_PULLED:
		bench_need(ev.status, "a receive");
		e->received++;
		break;
	default:
		bench_fail("the other side is gone", 0);
	}
}

static void do_send(struct bench_end *e, size_t size)
{
	struct rd_end *r = (struct rd_end *)e;
	struct iovec iov = { r->from, size };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1, .context = r };
	int rc;

	while ((rc = rosm_rd_send(r->rd, r->peer, &msg)) == -EAGAIN)
		do_poll(e);
	if (bench_need(rc, "rosm_rd_send") != ROSM_RD_PENDING)
		e->sent++;
}

static const struct bench_ops ops = {
	.post = do_post,
	.send = do_send,
	.poll = do_poll,
	.wait_sent = 1,
};
BENCH_LOOPS(ops)

static void *open_end(struct bench_pair *pair, size_t max_bytes,
		      const char *provider)
{
	uint8_t mine[ROSM_NAME_BYTES], theirs[ROSM_NAME_BYTES];
	struct rosm_rd_init init = { 0 };
	struct rd_end *r = aligned_alloc(64, (sizeof(*r) + 63) & ~(size_t)63);

	(void)provider;
	if (!r)
		bench_fail("out of memory", 0);
	memset(r, 0, sizeof(*r));
	bench_need(rosm_ctx_open(&r->ctx), "rosm_ctx_open");
	bench_need(rosm_pd_alloc(r->ctx, &r->pd), "rosm_pd_alloc");
	bench_need(rosm_rd_create(r->pd, &init, &r->rd), "rosm_rd_create");
	r->max_bytes = max_bytes;
	r->from = aligned_alloc(4096, (max_bytes + 4095) & ~(size_t)4095);
	r->to = aligned_alloc(4096, (max_bytes + 4095) & ~(size_t)4095);
	if (!r->from || !r->to)
		bench_fail("out of memory", 0);
	memset(r->from, pair->rank + 1, max_bytes);
	memset(r->to, 0, max_bytes);
	rosm_rd_name(r->rd, mine);
	bench_swap(pair, mine, theirs, sizeof(mine));
	bench_need(rosm_rd_peer_get(r->rd, theirs, &r->peer), "peer_get");
	return r;
}

static void close_end(void *end)
{
	struct rd_end *r = end;

	bench_need(rosm_rd_destroy(r->rd), "rosm_rd_destroy");
	bench_need(rosm_pd_free(r->pd), "rosm_pd_free");
	bench_need(rosm_ctx_close(r->ctx), "rosm_ctx_close");
	free(r->from);
	free(r->to);
	free(r);
}

const struct bench_face bench_face_engine_rd = {
	.name = "engine-rd",
	.help = "reliable datagrams of the engine itself, no tag matching",
	.open = open_end,
	.pingpong = pingpong,
	.stream = stream,
	.close = close_end,
};
