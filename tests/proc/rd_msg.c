/* SPDX-License-Identifier: BSD-2-Clause */
/* RD messages between processes: payload, order, back-pressure, answers. */
#include <config.h>

#include "engine/ctx.h"
#include "engine/move/move.h"
#include "engine/rd.h"
#include "tests/proc/rd_lib.h"

enum { MAX = 1 << 20 };

static const size_t sizes[] = {
	0, 1, 15, 16, 17, 79, 80, 81, 255, 1000, 4096, 8191, 8192, 8193, 16384,
	65535, 65536, 100001, 262144, 262145, 524289, MAX
};

#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))

/* ---- ping-pong ---- */

static int ping_pong(struct mp *mp, int rank, void *arg)
{
	uint8_t *out = malloc(MAX), *in = malloc(MAX);
	struct rosm_rd_event ev;
	struct end e;
	size_t i, round;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < SIZES; i++) {
			uint64_t tag = round << 32 | i;
			uint32_t flags = round & 1 ? ROSM_RD_ACK : 0;

			fill(out, sizes[i], tag + (uint64_t)rank);
			if (!rank)
				send_done(&e, 1, out, sizes[i], tag, flags);
			memset(in, 0xee, sizes[i]);
			next_event(&e, &ev);
			CHECK_EQ(ev.tag, tag);
			CHECK_EQ(ev.len, sizes[i]);
			CHECK_EQ(rosm_rd_peer_cookie(ev.peer), 1 - rank);
			CHECK_OK(take_msg(&e, &ev, in, MAX));
			check_fill(in, sizes[i], tag + 1 - (uint64_t)rank);
			if (rank)
				send_done(&e, 0, out, sizes[i], tag, flags);
		}
	}
	mp_barrier(mp);
	end_close(&e);
	free(out);
	free(in);
	return 0;
}

static void payload_of_all_sizes_arrives(void **state)
{
	assert_int_equal(mp_run(2, ping_pong, *state), 0);
}

/* ---- more outstanding than there is memory for ---- */

static int outstanding(struct mp *mp, int rank, void *arg)
{
	enum { SENDS = 400 };
	struct rosm_rd_msg msg = { .flags = ROSM_RD_ACK };
	struct rosm_rd_event ev;
	struct end e;
	size_t used;
	int i, rc, before = 0, again = 0;
	char c;

	end_open(&e, mp, rank, arg, 1024);
	end_meet(&e);
	if (rank) {
		mp_recv(mp, 0, &c, 1);
		for (i = 0; i < SENDS; i++) {
			next_event(&e, &ev);
			CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
			rosm_rd_answer(e.rd, ev.peer, &ev.token, 0);
		}
	} else {
		used = e.ctx->inst->rw_heap.used_bytes;
		for (i = 0; i < SENDS; i++) {
			while ((rc = rosm_rd_send(e.rd, e.peer[1], &msg)) ==
			       -EAGAIN) {
				/* nothing but a poll takes memory */
				CHECK_EQ(e.ctx->inst->rw_heap.used_bytes,
					 used);
				CHECK_EQ(rosm_rd_poll(e.rd, &ev), 0);
				CHECK_LT(used,
					 e.ctx->inst->rw_heap.used_bytes);
				used = e.ctx->inst->rw_heap.used_bytes;
				again++;
			}
			CHECK_EQ(rc, ROSM_RD_PENDING);
			before += !again;
		}
		CHECK_EQ(e.ctx->inst->rw_heap.used_bytes, used);
		CHECK_GE(before, 64);	/* it has a stock from the start */
		CHECK_GE(again, 1);
		mp_send(mp, 1, "x", 1);
		for (i = 0; i < SENDS; i++) {
			next_event(&e, &ev);
			CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
			CHECK_OK(ev.status);
		}
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void a_send_takes_no_memory(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, outstanding, "1"), 0);
}

/* ---- a sender that makes no call after its sends ---- */

enum { SILENT_SENDS = 12, SILENT_BYTES = 300000 };

static void speak_once(struct end *e, struct iovec *iov)
{
	struct rosm_rd_msg msg = { .iov = iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	char c;
	int i;

	fill(iov->iov_base, SILENT_BYTES, 8);
	for (i = 0; i < SILENT_SENDS; i++)
		CHECK_EQ(rosm_rd_send(e->rd, e->peer[0], &msg),
			 ROSM_RD_PENDING);
	mp_recv(e->mp, 0, &c, 1);
	for (i = 0; i < SILENT_SENDS; i++) {
		next_event(e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
		CHECK_OK(ev.status);
	}
}

static void hear_silent(struct end *e, struct iovec *iov)
{
	struct rosm_rd_event ev[SILENT_SENDS], done;
	int i, rc, bounced = 0;
	bool direct;

	for (i = 0; i < SILENT_SENDS; i++) {
		next_event(e, &ev[i]);
		CHECK_EQ(ev[i].type, ROSM_RD_EV_MSG);
	}
	direct = rosm_move_can_read(ev[0].peer->peer);
	if (!direct)		/* here it has to make calls */
		mp_send(e->mp, 1, "x", 1);
	for (i = 0; i < SILENT_SENDS; i++) {
		memset(iov->iov_base, 0, SILENT_BYTES);
		rc = rosm_rd_pull(e->rd, ev[i].peer, &ev[i].token, ev[i].len,
				  iov, 1, NULL);
		CHECK_GE(rc, 0);
		bounced += rc;
		if (rc) {
			next_event(e, &done);
			CHECK_EQ(done.type, ROSM_RD_EV_PULLED);
			CHECK_OK(done.status);
		}
		check_fill(iov->iov_base, SILENT_BYTES, 8);
	}
	CHECK_GE(bounced, 1);	/* both ways were tried */
	if (direct)
		mp_send(e->mp, 1, "x", 1);
}

static int silent(struct mp *mp, int rank, void *arg)
{
	uint8_t *buf = malloc(SILENT_BYTES);
	struct iovec iov = { buf, SILENT_BYTES };
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank)
		speak_once(&e, &iov);
	else
		hear_silent(&e, &iov);
	mp_barrier(mp);
	end_close(&e);
	free(buf);
	return 0;
}

static void a_silent_sender_is_read_directly(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, silent, "1"), 0);
}

/* ---- a sender that goes in the middle, its process stays ---- */

static int leaves(struct mp *mp, int rank, void *arg)
{
	enum { BYTES = 4 << 20 };
	uint8_t *buf = malloc(BYTES);
	struct iovec iov = { buf, BYTES };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct end e;
	int i;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		fill(buf, BYTES, 3);
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[0], &msg), ROSM_RD_PENDING);
		mp_barrier(mp);
		for (i = 0; i < 3; i++)
			CHECK_EQ(rosm_rd_poll(e.rd, &ev), 0);
		CHECK_OK(rosm_rd_destroy(e.rd));
		free(buf);
		buf = NULL;
		mp_barrier(mp);
		CHECK_OK(rosm_pd_free(e.pd));
		CHECK_OK(rosm_ctx_close(e.ctx));
		return 0;
	}
	next_event(&e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
	CHECK_EQ(rosm_rd_pull(e.rd, ev.peer, &ev.token, ev.len, &iov, 1, NULL),
		 ROSM_RD_PENDING);
	mp_barrier(mp);
	next_event(&e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_PULLED);
	CHECK_EQ(ev.status, -ECONNABORTED);
	mp_barrier(mp);
	end_close(&e);
	free(buf);
	return 0;
}

static void a_pull_ends_with_its_senders_endpoint(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, leaves, "0"), 0);
}

/* ---- order, many outstanding, several senders ---- */

enum { STREAM = 3000, WINDOW = 64 };

static size_t size_of(uint64_t n)
{
	static const size_t mix[] = { 8, 0, 3000, 80, 20000, 81, 8192, 16, 70000 };

	return mix[n * 7 % 9];
}

struct sender {
	uint8_t *buf[WINDOW];
	bool busy[WINDOW];
	int outstanding;
};

static void sent(struct end *e, struct rosm_rd_event *ev, void *arg)
{
	struct sender *s = arg;
	uintptr_t i = (uintptr_t)ev->context;

	(void)e;
	CHECK_EQ(ev->type, ROSM_RD_EV_SENT);
	CHECK_OK(ev->status);
	CHECK(s->busy[i]);
	s->busy[i] = false;
	s->outstanding--;
}

static void stream_out(struct end *e)
{
	struct rosm_rd_event ev;
	struct sender s = { .outstanding = 0 };
	uint64_t n;
	int i, rc;

	for (i = 0; i < WINDOW; i++)
		s.buf[i] = malloc(70000);
	for (n = 0; n < STREAM; n++) {
		struct iovec iov[2];
		struct rosm_rd_msg msg = { .tag = n, .iov = iov };
		size_t len = size_of(n);

		i = (int)(n % WINDOW);
		while (s.busy[i]) {
			next_event(e, &ev);
			sent(e, &ev, &s);
		}
		fill(s.buf[i], len, n + (uint64_t)e->rank);
		iov[0].iov_base = s.buf[i];
		iov[0].iov_len = len / 3;
		iov[1].iov_base = s.buf[i] + len / 3;
		iov[1].iov_len = len - len / 3;
		msg.iov_count = 2;
		msg.data = ~n;
		msg.flags = ROSM_RD_DATA | (n % 5 ? 0 : ROSM_RD_ACK);
		msg.op = (uint8_t)n;
		msg.context = (void *)(uintptr_t)i;
		s.busy[i] = true;
		s.outstanding++;
		rc = send_retry(e, 0, &msg, sent, &s);
		CHECK_GE(rc, 0);
		if (!rc) {
			s.busy[i] = false;
			s.outstanding--;
		}
	}
	while (s.outstanding) {
		next_event(e, &ev);
		sent(e, &ev, &s);
	}
	for (i = 0; i < WINDOW; i++)
		free(s.buf[i]);
}

/* A pull per message in flight; their order is that of the arrivals. */
struct arriving {
	uint8_t *buf;
	uint64_t seed;
	size_t len;
};

static void stream_in(struct end *e, int senders)
{
	uint64_t next[RANKS_MAX] = { 0 };
	struct rosm_rd_event ev;
	long left = (long)senders * STREAM;

	while (left) {
		struct arriving *a;
		struct iovec iov;
		uint64_t from;
		int rc;

		next_event(e, &ev);
		if (ev.type == ROSM_RD_EV_PULLED) {
			a = ev.context;
			CHECK_OK(ev.status);
			check_fill(a->buf, a->len, a->seed);
			free(a->buf);
			free(a);
			left--;
			continue;
		}
		CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
		from = rosm_rd_peer_cookie(ev.peer);
		CHECK_EQ(ev.tag, next[from]);
		CHECK_EQ(ev.len, size_of(ev.tag));
		CHECK(ev.data == ~ev.tag && ev.op == (uint8_t)ev.tag);
		next[from]++;
		if (ev.payload) {
			check_fill(ev.payload, ev.len, ev.tag + from);
			rosm_rd_release(e->rd, &ev);
		}
		if (ev.payload || !ev.token.xfer || !ev.len) {
			if (ev.token.xfer)
				rosm_rd_answer(e->rd, ev.peer, &ev.token, 0);
			left--;
			continue;
		}
		a = malloc(sizeof(*a));
		a->len = ev.len;
		a->seed = ev.tag + from;
		a->buf = malloc(ev.len);
		iov.iov_base = a->buf;
		iov.iov_len = ev.len;
		rc = rosm_rd_pull(e->rd, ev.peer, &ev.token, ev.len, &iov, 1,
				  a);
		CHECK_GE(rc, 0);
		if (rc == ROSM_RD_PENDING)
			continue;
		check_fill(a->buf, a->len, a->seed);
		free(a->buf);
		free(a);
		left--;
	}
}

static int stream(struct mp *mp, int rank, void *arg)
{
	struct end e;

	end_open(&e, mp, rank, arg, 256);
	end_meet(&e);
	if (rank)
		stream_out(&e);
	else
		stream_in(&e, mp_size(mp) - 1);
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void mixed_sizes_of_one_sender_keep_their_order(void **state)
{
	assert_int_equal(mp_run(2, stream, *state), 0);
}

static void four_senders_keep_their_orders(void **state)
{
	assert_int_equal(mp_run(5, stream, *state), 0);
}

/* ---- back-pressure ---- */

enum { SLOTS = 128 };

static int pressed(struct mp *mp, int rank, void *arg)
{
	uint64_t value = 0, n, got = 0;
	struct iovec iov = { &value, sizeof(value) };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct end e;
	int rc;

	end_open(&e, mp, rank, arg, SLOTS);
	end_meet(&e);
	if (!rank) {
		mp_recv(mp, 1, &n, sizeof(n));
		/* half of the ring and a little, never all of it */
		CHECK_GE(n, SLOTS / 2);
		CHECK_LT(n, SLOTS);
		for (got = 0; got < n; got++) {
			next_event(&e, &ev);
			CHECK_OK(take_msg(&e, &ev, &value, sizeof(value)));
			CHECK_EQ(value, got);
		}
		CHECK_EQ(rosm_rd_poll(e.rd, &ev), 0);
		mp_barrier(mp);
		next_event(&e, &ev);
		CHECK_OK(take_msg(&e, &ev, &value, sizeof(value)));
		CHECK_EQ(value, n);
	} else {
		while (!(rc = rosm_rd_send(e.rd, e.peer[0], &msg)))
			value++;
		CHECK_EQ(rc, -EAGAIN);
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[0], &msg), -EAGAIN);
		mp_send(mp, 0, &value, sizeof(value));
		mp_barrier(mp);
		CHECK_OK(rosm_rd_send(e.rd, e.peer[0], &msg));
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void a_receiver_that_does_not_poll_pushes_back(void **state)
{
	assert_int_equal(mp_run(2, pressed, *state), 0);
}

/* ---- answers, truncation ---- */

static int cut(struct mp *mp, int rank, void *arg)
{
	enum { LONG = 300000, SHORT = 70001 };
	uint8_t *buf = malloc(LONG + 1);
	struct rosm_rd_event ev;
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		fill(buf, LONG, 5);
		send_done(&e, 0, buf, LONG, 1, 0);
		send_done(&e, 0, buf, LONG, 2, 0);
		send_done(&e, 0, buf, 100, 3, ROSM_RD_ACK);
	} else {
		memset(buf, 0x11, LONG);
		next_event(&e, &ev);
		CHECK_EQ(ev.len, LONG);
		CHECK_OK(take_msg(&e, &ev, buf, SHORT));
		check_fill(buf, SHORT, 5);
		CHECK_EQ(buf[SHORT], 0x11);
		/* nothing at all of the next one */
		next_event(&e, &ev);
		CHECK_EQ(ev.tag, 2);
		rosm_rd_answer(e.rd, ev.peer, &ev.token, 0);
		next_event(&e, &ev);
		CHECK_EQ(ev.tag, 3);
		CHECK(ev.flags & ROSM_RD_ACK);
		CHECK_OK(take_msg(&e, &ev, buf, LONG));
	}
	mp_barrier(mp);
	end_close(&e);
	free(buf);
	return 0;
}

static void a_short_buffer_gets_what_fits(void **state)
{
	assert_int_equal(mp_run(2, cut, *state), 0);
}

static int refused(struct mp *mp, int rank, void *arg)
{
	uint8_t buf[20000] = { 0 };
	struct iovec iov = { buf, sizeof(buf) };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[0], &msg), ROSM_RD_PENDING);
		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
		CHECK_EQ(ev.status, -ECANCELED);
		/* announced to an endpoint that then goes away unread */
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[0], &msg), ROSM_RD_PENDING);
		mp_barrier(mp);
		next_event(&e, &ev);
		CHECK_EQ(ev.status, -ECONNABORTED);
		mp_barrier(mp);
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[0], &msg), -ECONNABORTED);
		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_PEER_DEAD);
		CHECK_EQ(rosm_rd_poll(e.rd, &ev), 0);
		end_close(&e);
	} else {
		next_event(&e, &ev);
		rosm_rd_answer(e.rd, ev.peer, &ev.token, -ECANCELED);
		mp_barrier(mp);
		CHECK_OK(rosm_rd_destroy(e.rd));
		mp_barrier(mp);
		CHECK_OK(rosm_pd_free(e.pd));
		CHECK_OK(rosm_ctx_close(e.ctx));
	}
	return 0;
}

static void refusal_and_an_endpoint_gone_are_told(void **state)
{
	assert_int_equal(mp_run(2, refused, *state), 0);
}

/* ---- one process ---- */

static int alone(struct mp *mp, int rank, void *arg)
{
	uint8_t *out = malloc(MAX), *in = malloc(MAX);
	struct rosm_rd_event ev;
	struct end e;
	size_t i;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	for (i = 0; i < SIZES; i++) {
		struct iovec iov = { out, sizes[i] };
		struct rosm_rd_msg msg = { .tag = i, .iov = &iov,
					   .iov_count = 1, .context = out };
		int rc;

		fill(out, sizes[i], i);
		rc = rosm_rd_send(e.rd, e.peer[0], &msg);
		CHECK_GE(rc, 0);
		next_event(&e, &ev);
		CHECK(ev.peer == e.peer[0]);
		CHECK_OK(take_msg(&e, &ev, in, MAX));
		check_fill(in, sizes[i], i);
		if (!rc)
			continue;
		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
		CHECK_OK(ev.status);
	}
	end_close(&e);
	free(out);
	free(in);
	return 0;
}

static void an_endpoint_can_talk_to_itself(void **state)
{
	assert_int_equal(mp_run(1, alone, *state), 0);
}

static int named(struct mp *mp, int rank, void *arg)
{
	uint8_t name[ROSM_NAME_BYTES], own[ROSM_NAME_BYTES];
	struct rosm_rd_peer *peer, *same;
	struct iovec iov = { name, 8 };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	rosm_rd_name(e.rd, own);
	CHECK_EQ(rosm_name_resolve(e.ctx, "node:7000", name), -ENOENT);
	CHECK_OK(rosm_rd_bind_service(e.rd, "node:7000"));
	CHECK_EQ(rosm_rd_bind_service(e.rd, "node:7000"), -EADDRINUSE);
	CHECK_OK(rosm_name_resolve(e.ctx, "node:7000", name));
	CHECK_MEM(name, own, sizeof(own));
	CHECK_OK(rosm_rd_peer_get(e.rd, name, &peer));
	CHECK_OK(rosm_rd_peer_get(e.rd, own, &same));
	CHECK(peer == same);
	CHECK(rosm_rd_peer_cookie(peer) == UINT64_MAX);
	rosm_rd_peer_name(peer, name);
	CHECK_MEM(name, own, sizeof(own));
	/* nobody has this QPN */
	name[48] ^= 1;
	CHECK_OK(rosm_rd_peer_get(e.rd, name, &peer));
	CHECK_LT(rosm_rd_send(e.rd, peer, &msg), 0);
	/* another node */
	own[8] ^= 1;
	CHECK_OK(rosm_rd_peer_get(e.rd, own, &peer));
	CHECK_EQ(rosm_rd_send(e.rd, peer, &msg), -EHOSTUNREACH);
	own[0] ^= 1;
	CHECK_EQ(rosm_rd_peer_get(e.rd, own, &peer), -EINVAL);
	CHECK_OK(rosm_rd_destroy(e.rd));
	CHECK_EQ(rosm_name_resolve(e.ctx, "node:7000", name), -ENOENT);
	CHECK_OK(rosm_pd_free(e.pd));
	CHECK_OK(rosm_ctx_close(e.ctx));
	return 0;
}

/* A block of the sender is used again: what named it before is void. */
static int stale_token(struct mp *mp, int rank, void *arg)
{
	static uint8_t buf[100000];
	struct iovec iov = { buf, sizeof(buf) };
	struct rosm_rd_event ev;
	struct rosm_rd_token old;
	struct rosm_wire_xfer *x;
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct end e;
	uint64_t until;
	uint32_t seq, i;
	char c = 0;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		fill(buf, sizeof(buf), 1);
		send_done(&e, 0, buf, sizeof(buf), 1, 0);
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[0], &msg), ROSM_RD_PENDING);
		mp_recv(mp, 0, &c, 1);
		for (until = mp_now_ns() + 20000000; mp_now_ns() < until;)
			CHECK(!rosm_rd_poll(e.rd, &ev));
		mp_send(mp, 0, &c, 1);
		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
		CHECK_OK(ev.status);
	} else {
		next_event(&e, &ev);
		old = ev.token;
		CHECK_OK(take_msg(&e, &ev, buf, sizeof(buf)));
		next_event(&e, &ev);
		CHECK_EQ((uint32_t)ev.token.xfer, (uint32_t)old.xfer);
		memset(buf, 0xee, sizeof(buf));
		CHECK_EQ(rosm_rd_pull(e.rd, ev.peer, &old, sizeof(buf), &iov, 1,
				      NULL), -ECONNABORTED);
		for (i = 0; i < sizeof(buf); i++)
			CHECK_EQ(buf[i], 0xee);
		rosm_rd_answer(e.rd, ev.peer, &old, 0);
		x = rosm_rd_xfer(ev.peer, ev.token.xfer, &seq);
		CHECK(x != NULL);
		CHECK_EQ(rosm_rd_answer_xfer(e.rd, ev.peer, x, seq - 1, 0),
			 -ECONNABORTED);
		mp_send(mp, 1, &c, 1);
		mp_recv(mp, 1, &c, 1);
		CHECK_OK(take_msg(&e, &ev, buf, sizeof(buf)));
		check_fill(buf, sizeof(buf), 1);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void a_block_that_is_used_again_is_another(void **state)
{
	assert_int_equal(mp_run(2, stale_token, *state), 0);
}

static void names_find_endpoints(void **state)
{
	assert_int_equal(mp_run(1, named, *state), 0);
}

static int sleeping(struct mp *mp, int rank, void *arg)
{
	struct rosm_rd_init init = { .slots = 0 };
	struct rosm_channel *ch;
	struct rosm_rd_event ev;
	uint8_t big[100000];
	struct end e;
	void *cookie;
	int i;

	end_open(&e, mp, rank, arg, 0);
	CHECK_OK(rosm_rd_destroy(e.rd));
	CHECK_OK(rosm_channel_create(e.ctx, &ch));
	init.channel = ch;
	init.cookie = &e;
	CHECK_OK(rosm_rd_create(e.pd, &init, &e.rd));
	end_meet(&e);
	for (i = 0; i < 200; i++) {
		size_t len = i % 3 ? 8 : sizeof(big);
		struct iovec iov = { big, len };
		struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
		int rc = 0, want = 1;

		if ((i + rank) % 2) {
			fill(big, len, (uint64_t)i);
			rc = rosm_rd_send(e.rd, e.peer[1 - rank], &msg);
			CHECK_GE(rc, 0);
			want = rc;
		}
		while (want) {
			CHECK_OK(rosm_rd_arm(e.rd));
			if (!rosm_rd_poll(e.rd, &ev)) {
				CHECK_OK(rosm_channel_get_event(ch, &cookie));
				CHECK(cookie == &e);
				continue;
			}
			want--;
			if (ev.type == ROSM_RD_EV_SENT)
				continue;
			if (ev.payload) {
				check_fill(ev.payload, ev.len, (uint64_t)i);
				continue;
			}
			rc = rosm_rd_pull(e.rd, ev.peer, &ev.token, ev.len,
					  &iov, 1, NULL);
			CHECK_GE(rc, 0);
			while (rc == ROSM_RD_PENDING) {
				CHECK_OK(rosm_rd_arm(e.rd));
				if (rosm_rd_poll(e.rd, &ev))
					break;
				CHECK_OK(rosm_channel_get_event(ch, &cookie));
			}
			CHECK_OK(ev.status);
			check_fill(big, len, (uint64_t)i);
		}
		mp_barrier(mp);	/* SENT and the reply may overtake each other */
	}
	CHECK_OK(rosm_rd_destroy(e.rd));
	CHECK_OK(rosm_channel_destroy(ch));
	CHECK_OK(rosm_pd_free(e.pd));
	CHECK_OK(rosm_ctx_close(e.ctx));
	return 0;
}

static void sleepers_are_woken(void **state)
{
	assert_int_equal(mp_run(2, sleeping, *state), 0);
}

#define BOTH_WAYS(test) \
	{ #test, test, NULL, NULL, "1" }, \
	{ #test "_without_cma", test, NULL, NULL, "0" }

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_WAYS(payload_of_all_sizes_arrives),
		cmocka_unit_test(a_send_takes_no_memory),
		cmocka_unit_test(a_silent_sender_is_read_directly),
		cmocka_unit_test(a_pull_ends_with_its_senders_endpoint),
		BOTH_WAYS(mixed_sizes_of_one_sender_keep_their_order),
		BOTH_WAYS(four_senders_keep_their_orders),
		BOTH_WAYS(a_receiver_that_does_not_poll_pushes_back),
		BOTH_WAYS(a_short_buffer_gets_what_fits),
		BOTH_WAYS(refusal_and_an_endpoint_gone_are_told),
		BOTH_WAYS(an_endpoint_can_talk_to_itself),
		BOTH_WAYS(names_find_endpoints),
		BOTH_WAYS(a_block_that_is_used_again_is_another),
		BOTH_WAYS(sleepers_are_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
