/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD: a process is killed at each step of its publications, at several
 * passages, and at random moments; who talks to it loses nothing but that
 * process.
 */
#include <config.h>

#include "tests/proc/rd_lib.h"
#include "util/fault.h"

enum { LARGE = 300000 };

struct point {
	const char *fault;
	const char *cma;
};

/* Both sides run this until one of them is gone. */
struct talk {
	struct end *e;
	int other;
	uint64_t sent;
	int sending;		/* SENT awaited */
	int pulling;
	uint8_t *out;
	uint8_t *in;
};

static void say(struct talk *t)
{
	static const size_t lens[] = { 8, 5000, LARGE, 60, 20000, 0 };
	struct iovec iov = { t->out, lens[t->sent % 6] };
	struct rosm_rd_msg msg = {
		.tag = t->sent,
		.flags = t->sent % 4 ? 0 : ROSM_RD_ACK,
		.iov = &iov,
		.iov_count = 1,
	};
	int rc = rosm_rd_send(t->e->rd, t->e->peer[t->other], &msg);

	if (rc == -EAGAIN || rc == -ECONNABORTED)
		return;
	CHECK_GE(rc, 0);
	t->sent++;
	t->sending += rc;
}

static void hear(struct talk *t, struct rosm_rd_event *ev)
{
	struct iovec iov = { t->in, LARGE };
	int rc;

	if (ev->payload) {
		rosm_rd_release(t->e->rd, ev);
		if (ev->token.xfer)
			rosm_rd_answer(t->e->rd, ev->peer, &ev->token, 0);
	} else if (ev->token.xfer) {
		rc = rosm_rd_pull(t->e->rd, ev->peer, &ev->token, ev->len,
				  &iov, 1, NULL);
		CHECK(rc >= 0 || rc == -ECONNABORTED);
		t->pulling += rc > 0;
	}
}

static void talk(struct talk *t)
{
	struct rosm_rd_event ev;

	for (;;) {
		if (t->sending < 4)
			say(t);
		if (!rosm_rd_poll(t->e->rd, &ev)) {
			sched_yield();
			continue;
		}
		switch (ev.type) {
		case ROSM_RD_EV_MSG:
			hear(t, &ev);
			break;
		case ROSM_RD_EV_SENT:
			CHECK(!ev.status || ev.status == -ECONNABORTED);
			t->sending--;
			break;
		case ROSM_RD_EV_PULLED:
			CHECK(!ev.status || ev.status == -ECONNABORTED);
			t->pulling--;
			break;
		case ROSM_RD_EV_PEER_DEAD:
			CHECK(ev.peer == t->e->peer[t->other]);
			/* what was outstanding was reported before */
			CHECK_EQ(t->sending, 0);
			CHECK_EQ(t->pulling, 0);
			return;
		default:
			CHECK_EQ(ev.type, 0);
		}
	}
}

static int worker(struct mp *mp, int rank, void *arg)
{
	const struct point *p = arg;
	struct rosm_rd_event ev;
	struct talk t = { .other = 1 - rank };
	struct end e;
	char c = 0;

	end_open(&e, mp, rank, p->cma, 128);
	end_meet(&e);
	t.e = &e;
	t.out = calloc(1, LARGE);
	t.in = calloc(1, LARGE);
	if (rank == 1) {
		mp_expect_signal(mp, 1, SIGKILL);
		setenv("ROSM_FAULT", p->fault, 1);
		ru_fault_reload();
		mp_send(mp, MP_PARENT, &c, 1);
		talk(&t);
	}
	if (!rank) {
		talk(&t);
		fill(t.out, LARGE, 3);
		mp_send(mp, 2, &c, 1);
		send_done(&e, 2, t.out, LARGE, 1, 0);
	} else {
		mp_recv(mp, 0, &c, 1);
		next_event(&e, &ev);
		CHECK_OK(take_msg(&e, &ev, t.in, LARGE));
		check_fill(t.in, LARGE, 3);
	}
	free(t.out);
	free(t.in);
	end_close(&e);
	return 0;
}

static void others_go_on_wherever_it_stopped(void **state)
{
	static const char *const points[] = {
		"ring.claimed", "rd.filled", "rd.published", "rd.ref_filled",
		"rd.ref_published", "rd.answering", "rd.answered",
	};
	static const int passages[] = { 1, 2, 7, 30 };
	char fault[64];
	struct point p = { .fault = fault };
	size_t i, k;
	int cma;

	(void)state;
	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		for (k = 0; k < 4; k++)
			for (cma = 0; cma < 2; cma++) {
				p.cma = cma ? "1" : "0";
				snprintf(fault, sizeof(fault), "kill:%s:%d",
					 points[i], passages[k]);
				if (mp_run(3, worker, &p))
					fail_msg("%s, CMA %s", fault, p.cma);
			}
	for (k = 0; k < 4; k++) {
		p.cma = "0";
		snprintf(fault, sizeof(fault), "kill:bounce.filled:%d",
			 passages[k]);
		if (mp_run(3, worker, &p))
			fail_msg("%s", fault);
	}
}

static void others_go_on_whenever_it_stopped(void **state)
{
	uint64_t end = mp_now_ns() + mp_soak_s() * 1000000000ull;
	unsigned int seed = 12345;
	struct point p = { .fault = "" };
	struct mp *mp;
	char c;
	int i;

	(void)state;
	for (i = 0; i < 20 || mp_now_ns() < end; i++) {
		p.cma = i % 2 ? "1" : "0";
		mp = mp_start(3, worker, &p);
		mp_recv(mp, 1, &c, 1);
		usleep(1 + (unsigned int)rand_r(&seed) % 12000);
		mp_kill(mp, 1);
		if (mp_finish(mp))
			fail_msg("round %d, CMA %s", i, p.cma);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_go_on_wherever_it_stopped),
		cmocka_unit_test(others_go_on_whenever_it_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
