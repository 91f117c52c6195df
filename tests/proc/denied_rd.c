/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD between processes that are kept from each other's memory, in every way
 * of denied.c that this machine allows: eager, announced and one-sided, both
 * ends at once; a peer that makes no call; the death of one of them.
 *
 * Built three times, once a table (DENIED_TABLE).
 */
#include <config.h>

#include "tests/proc/rd_lib.h"

#include "engine/inst.h"
#include "engine/rd.h"
#include "tests/proc/denied.h"
#include "tests/proc/denied_main.h"

enum { MIB = 1 << 20, REGION = MIB + 64, BASE = 0x10000, QUICK_MS = 500 };

struct side {
	struct end e;
	struct rosm_mr *mr;
	uint8_t *out;
	uint8_t *in;
	uint8_t *region;	/* the other's RMA goes here */
	uint32_t rkey;		/* of the other's */
	int other;
};

static void side_open(struct side *s, struct mp *mp, int rank)
{
	uint32_t rkey;

	end_open(&s->e, mp, rank, "1", 0);
	s->other = !rank;
	s->out = malloc(REGION);
	s->in = malloc(REGION);
	s->region = malloc(REGION);
	CHECK(s->out && s->in && s->region);
	CHECK_OK(rosm_mr_reg(s->e.pd, s->region, REGION, BASE,
			     ROSM_ACCESS_LOCAL_WRITE |
				     ROSM_ACCESS_REMOTE_WRITE |
				     ROSM_ACCESS_REMOTE_READ, &s->mr));
	rkey = rosm_mr_rkey(s->mr);
	end_meet(&s->e);
	mp_send(mp, s->other, &rkey, sizeof(rkey));
	mp_recv(mp, s->other, &s->rkey, sizeof(s->rkey));
}

static void side_close(struct side *s)
{
	CHECK_OK(rosm_mr_dereg(s->mr));
	end_close(&s->e);
	free(s->out);
	free(s->in);
	free(s->region);
}

/* Polls, as a program does that waits, until the other says so. */
static void serve_until_told(struct side *s)
{
	struct rosm_rd_event ev;
	char c;

	while (mp_recv_timeout(s->e.mp, s->other, &c, 1, 0) == -ETIMEDOUT) {
		CHECK_EQ(rosm_rd_poll(s->e.rd, &ev), 0);
		sched_yield();
	}
}

/* Afterwards neither polls before the other's next message can be sent. */
static void meet(struct side *s)
{
	char c;

	mp_send(s->e.mp, s->other, "", 1);
	serve_until_told(s);
	mp_send(s->e.mp, s->other, "", 1);
	mp_recv(s->e.mp, s->other, &c, 1);
}

struct going {
	bool sent, got, pulling;
	size_t len;
};

static void handle(struct side *s, struct rosm_rd_event *ev, struct going *g)
{
	struct iovec iov = { s->in, REGION };

	switch (ev->type) {
	case ROSM_RD_EV_SENT:
		CHECK(!g->sent && ev->context == s->out);
		CHECK_OK(ev->status);
		g->sent = true;
		return;
	case ROSM_RD_EV_PULLED:
		CHECK(g->pulling && ev->context == s->in);
		CHECK_OK(ev->status);
		g->got = true;
		return;
	case ROSM_RD_EV_MSG:
		break;
	default:
		check_failed(__FILE__, __LINE__, "event %d", (int)ev->type);
	}
	CHECK(!g->got && !g->pulling);
	CHECK(ev->peer == s->e.peer[s->other]);
	CHECK_EQ(ev->len, g->len);
	if (ev->payload) {
		memcpy(s->in, ev->payload, ev->len);
		rosm_rd_release(s->e.rd, ev);
	}
	if (ev->payload || !ev->token.xfer || ev->token.ack) {
		if (ev->token.xfer)
			rosm_rd_answer(s->e.rd, ev->peer, &ev->token, 0);
		g->got = true;
		return;
	}
	g->pulling = true;
	switch (rosm_rd_pull(s->e.rd, ev->peer, &ev->token, ev->len, &iov, 1,
			     s->in)) {
	case 0:
		g->got = true;
		break;
	case ROSM_RD_PENDING:
		break;
	default:
		check_failed(__FILE__, __LINE__, "pull of %zu bytes", g->len);
	}
}

/* One message each way, at the same time. */
static void cross(struct side *s, size_t len, uint64_t seed, uint32_t flags)
{
	struct iovec iov = { s->out, len };
	struct rosm_rd_msg msg = {
		.tag = seed, .flags = flags, .iov = &iov, .iov_count = 1,
		.context = s->out,
	};
	struct going g = { .len = len };
	struct rosm_rd_event ev;
	int rc;

	fill(s->out, len, seed + (uint64_t)s->e.rank);
	memset(s->in, 0, len);
	do {
		rc = rosm_rd_send(s->e.rd, s->e.peer[s->other], &msg);
		if (rc == -EAGAIN && rosm_rd_poll(s->e.rd, &ev))
			handle(s, &ev, &g);
	} while (rc == -EAGAIN);
	CHECK_GE(rc, 0);
	g.sent = g.sent || !rc;
	while (!g.sent || !g.got) {
		next_event(&s->e, &ev);
		handle(s, &ev, &g);
	}
	check_fill(s->in, len, seed + (uint64_t)s->other);
}

static void messages(struct side *s)
{
	size_t eager = rosm_rd_eager_max(s->e.rd);
	const size_t sizes[] = {
		0, 1, 8, 80, 81, 1000, 4096, eager - 1, eager, eager + 1,
		65537, 256 * 1024, 256 * 1024 + 1, MIB + 3,
	};
	size_t i, n = sizeof(sizes) / sizeof(sizes[0]);

	for (i = 0; i < n; i++) {
		meet(s);
		cross(s, sizes[i], 10 * i, 0);
		meet(s);
		cross(s, sizes[i], 10 * i + 5, ROSM_RD_ACK);
	}
	meet(s);
}

/* Runs one operation to its end; its result. */
static int rma(struct side *s, bool write, uint64_t at, void *buf, size_t len,
	       uint32_t flags)
{
	struct iovec iov = { buf, len };
	struct rosm_rd_rma r = {
		.iov = &iov, .iov_count = 1, .flags = flags, .data = 99,
		.remote_addr = BASE + at, .rkey = s->rkey, .context = buf,
	};
	struct rosm_rd_peer *peer = s->e.peer[s->other];
	struct rosm_rd_event ev;
	int rc;

	do {
		rc = write ? rosm_rd_write(s->e.rd, peer, &r) :
			     rosm_rd_read(s->e.rd, peer, &r);
		if (rc == -EAGAIN)
			CHECK_EQ(rosm_rd_poll(s->e.rd, &ev), 0);
	} while (rc == -EAGAIN);
	if (rc != ROSM_RD_PENDING)
		return rc;
	next_event(&s->e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DONE);
	CHECK(ev.context == buf);
	return ev.status;
}

static void writes_and_reads(struct side *s)
{
	static const size_t sizes[] = {
		1, 8, 100, 4096, 50000, 256 * 1024, 256 * 1024 + 1, MIB,
	};
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		fill(s->out, sizes[i], i);
		CHECK_OK(rma(s, true, i, s->out, sizes[i], 0));
		memset(s->in, 0, sizes[i]);
		CHECK_OK(rma(s, false, i, s->in, sizes[i], 0));
		check_fill(s->in, sizes[i], i);
	}
	/* what is not allowed is refused this way, too */
	CHECK_EQ(rma(s, true, REGION, s->out, 8, 0), -EACCES);
	fill(s->out, 70000, 77);
	CHECK_OK(rma(s, true, 0, s->out, 70000, ROSM_RD_DATA));
}

static void be_written(struct side *s)
{
	struct rosm_rd_event ev;

	next_event(&s->e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DATA);
	CHECK_EQ(ev.data, 99);
	CHECK_EQ(ev.len, 70000);
	check_fill(s->region, 70000, 77);
}

static int data(struct mp *mp, int rank, const struct denied_case *c)
{
	struct rosm_wire_stat *st;
	struct side s;

	denied_watch_lines();
	side_open(&s, mp, rank);
	messages(&s);
	if (rank) {
		be_written(&s);
		meet(&s);
		writes_and_reads(&s);
	} else {
		writes_and_reads(&s);
		meet(&s);
		be_written(&s);
	}
	meet(&s);
	st = s.e.peer[s.other]->peer->stat;
	if (denied_all(c)) {
		CHECK_EQ(st->tx_ops[ROSM_MOVER_CMA], 0);
		CHECK_EQ(st->rx_ops[ROSM_MOVER_CMA], 0);
		CHECK_GT(st->tx_ops[ROSM_MOVER_BOUNCE], 0);
		CHECK_GT(st->rx_ops[ROSM_MOVER_BOUNCE], 0);
	}
	meet(&s);
	denied_check_lines(rank, c);
	side_close(&s);
	return 0;
}

/* ---- sleepers ---- */

/* One message each way; sleeps whenever a poll finds nothing. */
static void cross_asleep(struct side *s, struct rosm_channel *channel,
			 size_t len)
{
	struct iovec iov = { s->out, len };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1,
				   .context = s->out };
	struct going g = { .len = len };
	struct rosm_rd_event ev;
	bool posted = false, news;
	void *cookie;
	int rc;

	for (;;) {
		if (!posted) {
			rc = rosm_rd_send(s->e.rd, s->e.peer[s->other], &msg);
			CHECK(rc >= 0 || rc == -EAGAIN);
			posted = rc >= 0;
			g.sent = !rc;
		}
		CHECK_OK(rosm_rd_arm(s->e.rd));
		for (news = false; rosm_rd_poll(s->e.rd, &ev); news = true)
			handle(s, &ev, &g);
		if (g.sent && g.got)
			return;
		if (posted && !news)
			CHECK_OK(rosm_channel_get_event(channel, &cookie));
	}
}

static int sleepers(struct mp *mp, int rank, const struct denied_case *c)
{
	static const size_t sizes[] = { 8, 3000, 100000, 600000 };
	struct rosm_rd_init init = { 0 };
	struct side s = { .e = { .mp = mp, .rank = rank }, .other = !rank };
	struct rosm_channel *channel;
	unsigned int i;
	char b;

	(void)c;
	s.out = calloc(1, REGION);
	s.in = calloc(1, REGION);
	CHECK_OK(rosm_ctx_open(&s.e.ctx));
	CHECK_OK(rosm_pd_alloc(s.e.ctx, &s.e.pd));
	CHECK_OK(rosm_channel_create(s.e.ctx, &channel));
	init.channel = channel;
	CHECK_OK(rosm_rd_create(s.e.pd, &init, &s.e.rd));
	end_meet(&s.e);
	for (i = 0; i < 40; i++) {
		fill(s.out, sizes[i % 4], i);
		cross_asleep(&s, channel, sizes[i % 4]);
		check_fill(s.in, sizes[i % 4], i);
		mp_send(mp, !rank, "", 1);
		mp_recv(mp, !rank, &b, 1);
	}
	CHECK_OK(rosm_rd_destroy(s.e.rd));
	CHECK_OK(rosm_channel_destroy(channel));
	CHECK_OK(rosm_pd_free(s.e.pd));
	CHECK_OK(rosm_ctx_close(s.e.ctx));
	free(s.out);
	free(s.in);
	return 0;
}

/* ---- who makes no call ---- */

static uint64_t now_ms(void)
{
	return mp_now_ns() / 1000000;
}

/*
 * Rank 1 computes at first: nobody waits for it, nothing fails, and what was
 * sent arrives in the end. Then rank 0 makes no calls, and has rank 1 mapped:
 * to deregister there still takes no time.
 */
static int silent(struct mp *mp, int rank, const struct denied_case *c)
{
	uint64_t word = 0x1122334455667788, start;
	struct iovec iov = { &word, sizeof(word) };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct side s;
	int i, rc = -EAGAIN;
	char b;

	denied_watch_lines();
	side_open(&s, mp, rank);
	if (rank) {
		mp_recv(mp, 0, &b, 1);
		next_event(&s.e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
		CHECK(ev.payload && !memcmp(ev.payload, &word, sizeof(word)));
		rosm_rd_release(s.e.rd, &ev);
		mp_send(mp, 0, "", 1);
		mp_recv(mp, 0, &b, 1);
		start = now_ms();
		CHECK_OK(rosm_mr_dereg(s.mr));
		CHECK_LT(now_ms() - start, QUICK_MS * denied_slower());
		mp_send(mp, 0, "", 1);
	} else {
		for (i = 0; i < 20 && rc == -EAGAIN; i++) {
			start = now_ms();
			rc = rosm_rd_send(s.e.rd, s.e.peer[1], &msg);
			CHECK_LT(now_ms() - start, QUICK_MS * denied_slower());
		}
		mp_send(mp, 1, "", 1);
		while (rc == -EAGAIN) {
			CHECK_EQ(rosm_rd_poll(s.e.rd, &ev), 0);
			rc = rosm_rd_send(s.e.rd, s.e.peer[1], &msg);
			sched_yield();
		}
		CHECK_OK(rc);
		mp_recv(mp, 1, &b, 1);
		mp_send(mp, 1, "", 1);
		mp_recv(mp, 1, &b, 1);
		CHECK_OK(rosm_mr_dereg(s.mr));
	}
	mp_barrier(mp);
	denied_check_lines(rank, &(struct denied_case){ .name = c->name });
	end_close(&s.e);
	free(s.out);
	free(s.in);
	free(s.region);
	return 0;
}

/* ---- death ---- */

static void survive(struct side *s)
{
	struct rosm_rd_event ev;
	bool failed = false;
	uint64_t end;
	char b;

	CHECK_EQ(mp_recv(s->e.mp, MP_PARENT, &b, 1), 1); /* it is killed now */
	end = now_ms() + 2000 * denied_slower();
	for (;;) {
		CHECK_LT(now_ms(), end);
		if (!rosm_rd_poll(s->e.rd, &ev))
			continue;
		if (ev.type == ROSM_RD_EV_PEER_DEAD)
			break;
		CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
		CHECK_EQ(ev.status, -ECONNABORTED);
		failed = true;
	}
	CHECK(failed);
	CHECK(ev.peer == s->e.peer[s->other]);
}

static int death(struct mp *mp, int rank, const struct denied_case *c)
{
	struct iovec iov;
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct side s;

	(void)c;
	side_open(&s, mp, rank);
	meet(&s);
	cross(&s, 50000, 3, 0);
	meet(&s);
	if (rank) {
		/* announced, and never fetched */
		next_event(&s.e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
		mp_send(mp, MP_PARENT, "", 1);
		for (;;)
			sched_yield();
	}
	iov = (struct iovec){ s.out, MIB };
	CHECK_EQ(rosm_rd_send(s.e.rd, s.e.peer[1], &msg), ROSM_RD_PENDING);
	survive(&s);
	CHECK_EQ(rosm_rd_send(s.e.rd, s.e.peer[1], &msg), -ECONNABORTED);
	side_close(&s);
	return 0;
}

/* Asked, it never answers: only its end can be told. */
static int death_unmet(struct mp *mp, int rank, const struct denied_case *c)
{
	struct rosm_rd_event ev;
	struct side s;
	uint64_t end;
	char b;
	int rc;

	(void)c;
	side_open(&s, mp, rank);
	if (rank) {
		mp_recv(mp, 0, &b, 1);
		mp_send(mp, MP_PARENT, "", 1);
		for (;;)
			sched_yield();
	}
	rc = rosm_rd_peer_contact(s.e.rd, s.e.peer[1]);
	CHECK(!rc || rc == -EAGAIN);
	mp_send(mp, 1, "", 1);
	CHECK_EQ(mp_recv(mp, MP_PARENT, &b, 1), 1);
	end = now_ms() + 2000 * denied_slower();
	while (!rosm_rd_poll(s.e.rd, &ev))
		CHECK_LT(now_ms(), end);
	CHECK_EQ(ev.type, ROSM_RD_EV_PEER_DEAD);
	CHECK_EQ(ev.status, -ECONNABORTED);
	CHECK(ev.peer == s.e.peer[1]);
	side_close(&s);
	return 0;
}

static void data_arrives_whole_both_ways(void **state)
{
	DENIED_EACH(state, data);
}

static void sleepers_wake_each_other(void **state)
{
	DENIED_EACH(state, sleepers);
}

static void who_makes_no_call_is_not_waited_for(void **state)
{
	DENIED_EACH(state, silent);
}

static void a_death_ends_what_is_open(void **state)
{
	DENIED_EACH(state, death);
}

static void the_death_of_who_never_answered_is_told(void **state)
{
	DENIED_EACH(state, death_unmet);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_arrives_whole_both_ways),
		cmocka_unit_test(sleepers_wake_each_other),
		cmocka_unit_test(who_makes_no_call_is_not_waited_for),
		cmocka_unit_test(a_death_ends_what_is_open),
		cmocka_unit_test(the_death_of_who_never_answered_is_told),
	};

	return denied_main(argc, argv) ? 77 :
		cmocka_run_group_tests(tests, NULL, NULL);
}
