/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD with a second thread that serves what peers wait for, as other calls of a
 * program do: while the endpoint's owner is in its calls, and while it makes
 * none.
 */
#include <config.h>

#include <pthread.h>

#include "engine/ctx.h"
#include "engine/rd.h"
#include "tests/proc/rd_lib.h"

struct server {
	struct rosm_inst *inst;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint turns;
};

static void *serve(void *arg)
{
	struct server *s = arg;

	while (!atomic_load(&s->stop)) {
		if (rosm_rd_wants_service(s->inst)) {
			rosm_rd_serve(s->inst);
			atomic_fetch_add(&s->turns, 1);
		}
		sched_yield();
	}
	return NULL;
}

static void server_start(struct server *s, struct end *e)
{
	s->inst = e->ctx->inst;
	atomic_init(&s->stop, false);
	atomic_init(&s->turns, 0);
	CHECK_OK(pthread_create(&s->thread, NULL, serve, s));
}

static void server_stop(struct server *s)
{
	atomic_store(&s->stop, true);
	CHECK_OK(pthread_join(s->thread, NULL));
}

/* ---- the owner is busy with the same endpoint ---- */

enum { COUNT = 120, LARGE = 300000, WINDOW = 4 };

struct both {
	struct end *e;
	uint8_t *out[WINDOW];
	uint8_t *in[WINDOW];
	bool sending[WINDOW];
	bool pulling[WINDOW];
	uint64_t seed[WINDOW];
	uint64_t len[WINDOW];
	int sent, heard;
	int waits;		/* for SENT and PULLED */
};

static size_t size_of(int n)
{
	static const size_t mix[] = { LARGE, 8, 70000, 3000, LARGE - 1, 100000 };

	return mix[n % 6];
}

static void say(struct both *b)
{
	int n = b->sent, w = n % WINDOW, rc;
	struct iovec iov = { b->out[w], size_of(n) };
	struct rosm_rd_msg msg = {
		.tag = (uint64_t)n,
		.iov = &iov,
		.iov_count = 1,
		.context = &b->sending[w],
		.flags = n % 4 ? 0 : ROSM_RD_ACK,
	};

	if (n == COUNT || b->sending[w])
		return;
	fill(iov.iov_base, iov.iov_len, (uint64_t)(n + b->e->rank));
	rc = rosm_rd_send(b->e->rd, b->e->peer[!b->e->rank], &msg);
	if (rc == -EAGAIN)
		return;
	CHECK_GE(rc, 0);
	b->sending[w] = rc;
	b->waits += rc;
	b->sent++;
}

/* Of a slot of the window: its former message was reported before. */
static void hear(struct both *b, struct rosm_rd_event *ev)
{
	int n = b->heard++, w = n % WINDOW, rc;
	struct iovec iov = { b->in[w], LARGE };
	uint64_t seed = (uint64_t)(n + !b->e->rank);

	CHECK_EQ(ev->tag, n);
	CHECK_EQ(ev->len, size_of(n));
	CHECK(!b->pulling[w]);
	if (ev->payload) {
		check_fill(ev->payload, ev->len, seed);
		rosm_rd_release(b->e->rd, ev);
		if (ev->token.xfer)
			rosm_rd_answer(b->e->rd, ev->peer, &ev->token, 0);
		return;
	}
	rc = rosm_rd_pull(b->e->rd, ev->peer, &ev->token, ev->len, &iov, 1,
			  &b->pulling[w]);
	CHECK_GE(rc, 0);
	b->pulling[w] = rc;
	b->seed[w] = seed;
	b->len[w] = ev->len;
	b->waits += rc;
	if (!rc)
		check_fill(b->in[w], ev->len, seed);
}

static void over(struct both *b, struct rosm_rd_event *ev)
{
	bool *flag = ev->context;
	int w;

	CHECK_OK(ev->status);
	CHECK(*flag);
	*flag = false;
	b->waits--;
	if (ev->type != ROSM_RD_EV_PULLED)
		return;
	w = (int)(flag - b->pulling);
	check_fill(b->in[w], b->len[w], b->seed[w]);
}

static int busy(struct mp *mp, int rank, void *arg)
{
	struct both b = { .sent = 0 };
	struct rosm_rd_event ev;
	struct server s;
	struct end e;
	int i;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	b.e = &e;
	for (i = 0; i < WINDOW; i++) {
		b.out[i] = malloc(LARGE);
		b.in[i] = malloc(LARGE);
	}
	server_start(&s, &e);
	while (b.sent < COUNT || b.heard < COUNT || b.waits) {
		say(&b);
		if (!rosm_rd_poll(e.rd, &ev)) {
			sched_yield();
			continue;
		}
		if (ev.type == ROSM_RD_EV_MSG)
			hear(&b, &ev);
		else
			over(&b, &ev);
	}
	mp_barrier(mp);
	server_stop(&s);
	for (i = 0; i < WINDOW; i++) {
		free(b.out[i]);
		free(b.in[i]);
	}
	end_close(&e);
	return 0;
}

static void a_second_thread_serves_beside_the_owner(void **state)
{
	assert_int_equal(mp_run(2, busy, *state), 0);
}

/* ---- the owner makes no call ---- */

enum { HUGE = 4 << 20 };

static int absent(struct mp *mp, int rank, void *arg)
{
	uint8_t *buf = malloc(HUGE);
	struct iovec iov = { buf, HUGE };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct server s;
	struct end e;
	char c;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (!rank) {
		fill(buf, HUGE, 6);
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[1], &msg), ROSM_RD_PENDING);
		server_start(&s, &e);
		mp_recv(mp, 1, &c, 1);
		server_stop(&s);
		CHECK_GE(atomic_load(&s.turns), HUGE / ROSM_BOUNCE_BUDGET);
		/* it is over: nothing else is asked for */
		rosm_rd_serve(e.ctx->inst);
		CHECK(!rosm_rd_wants_service(e.ctx->inst));
		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
		CHECK_OK(ev.status);
	} else {
		memset(buf, 0, HUGE);
		next_event(&e, &ev);
		CHECK_OK(take_msg(&e, &ev, buf, HUGE));
		check_fill(buf, HUGE, 6);
		/* its last answer, too */
		mp_send(mp, 0, "x", 1);
	}
	mp_barrier(mp);
	end_close(&e);
	free(buf);
	return 0;
}

static void an_absent_owner_is_served_by_another_thread(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, absent, "0"), 0);
}

/* ---- the owner sleeps ---- */

static int asleep(struct mp *mp, int rank, void *arg)
{
	uint8_t *buf = malloc(HUGE);
	struct rosm_channel *ch = NULL;
	struct rosm_rd_init init = { .slots = 64 };
	struct iovec iov = { buf, HUGE };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct server s;
	struct end e;
	void *cookie;

	end_open(&e, mp, rank, arg, 0);
	if (!rank) {
		CHECK_OK(rosm_rd_destroy(e.rd));
		CHECK_OK(rosm_channel_create(e.ctx, &ch));
		init.channel = ch;
		CHECK_OK(rosm_rd_create(e.pd, &init, &e.rd));
	}
	end_meet(&e);
	if (!rank) {
		fill(buf, HUGE, 2);
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[1], &msg), ROSM_RD_PENDING);
		server_start(&s, &e);
		while (!rosm_rd_poll(e.rd, &ev)) {
			CHECK_OK(rosm_rd_arm(e.rd));
			if (rosm_rd_poll(e.rd, &ev))
				break;
			CHECK_OK(rosm_channel_get_event(ch, &cookie));
		}
		CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
		CHECK_OK(ev.status);
		server_stop(&s);
	} else {
		next_event(&e, &ev);
		CHECK_OK(take_msg(&e, &ev, buf, HUGE));
		check_fill(buf, HUGE, 2);
	}
	mp_barrier(mp);
	CHECK_OK(rosm_rd_destroy(e.rd));
	if (ch)
		CHECK_OK(rosm_channel_destroy(ch));
	CHECK_OK(rosm_pd_free(e.pd));
	CHECK_OK(rosm_ctx_close(e.ctx));
	free(buf);
	return 0;
}

static void what_another_thread_ends_wakes_the_owner(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, asleep, "0"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "a_second_thread_serves_beside_the_owner",
		  a_second_thread_serves_beside_the_owner, NULL, NULL, "1" },
		{ "a_second_thread_serves_beside_the_owner_without_cma",
		  a_second_thread_serves_beside_the_owner, NULL, NULL, "0" },
		cmocka_unit_test(an_absent_owner_is_served_by_another_thread),
		cmocka_unit_test(what_another_thread_ends_wakes_the_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
