/* SPDX-License-Identifier: BSD-2-Clause */
/* RD: answers whose giver stops before it has counted them. */
#include <config.h>

#include "tests/proc/rd_lib.h"
#include "util/fault.h"

/* Rank 1 dies between its answer and the count, then rank 2 answers. */
static void answer_one(struct end *e)
{
	struct rosm_rd_event ev;
	char c;

	if (e->rank == 1) {
		mp_expect_signal(e->mp, 1, SIGKILL);
		setenv("ROSM_FAULT", "kill:rd.answered:1", 1);
		ru_fault_reload();
	} else {
		mp_recv(e->mp, 0, &c, 1);
	}
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
	CHECK(ev.token.xfer != 0);
	rosm_rd_release(e->rd, &ev);
	rosm_rd_answer(e->rd, ev.peer, &ev.token, 0);
	CHECK_EQ(e->rank, 2);
	mp_send(e->mp, 0, "x", 1);
	mp_recv(e->mp, 0, &c, 1);	/* its end would make rank 0 look */
}

static void ask_both(struct end *e)
{
	uint64_t word = 5;
	struct iovec iov = { &word, sizeof(word) };
	struct rosm_rd_msg msg = {
		.flags = ROSM_RD_ACK, .iov = &iov, .iov_count = 1,
	};
	char c;
	int i;

	for (i = 1; i <= 2; i++) {
		msg.context = e->peer[i];
		CHECK_EQ(rosm_rd_send(e->rd, e->peer[i], &msg),
			 ROSM_RD_PENDING);
	}
	CHECK_EQ(mp_recv_timeout(e->mp, 1, &c, 1, 10000), -EPIPE);
	mp_send(e->mp, 2, "x", 1);
	mp_recv(e->mp, 2, &c, 1);
}

static void check_sent(struct end *e, struct rosm_rd_event *ev, int i)
{
	CHECK_EQ(ev->type, ROSM_RD_EV_SENT);
	CHECK_OK(ev->status);
	CHECK(ev->context == e->peer[i]);
}

static int polling(struct mp *mp, int rank, void *arg)
{
	struct rosm_rd_event ev;
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		answer_one(&e);
	} else {
		ask_both(&e);
		next_event(&e, &ev);
		check_sent(&e, &ev, 1);
		next_event(&e, &ev);
		if (ev.type == ROSM_RD_EV_PEER_DEAD)
			next_event(&e, &ev);
		check_sent(&e, &ev, 2);
		mp_send(mp, 2, "x", 1);
	}
	end_close(&e);
	return 0;
}

static void an_uncounted_answer_hides_no_other(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, polling, "1"), 0);
}

/* One poll after arming has to find it, since the next thing is a sleep. */
static int arming(struct mp *mp, int rank, void *arg)
{
	struct rosm_channel *ch;
	struct rosm_rd_event ev;
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	if (!rank) {
		struct rosm_rd_init init = { .slots = 64 };

		CHECK_OK(rosm_rd_destroy(e.rd));
		CHECK_OK(rosm_channel_create(e.ctx, &ch));
		init.channel = ch;
		CHECK_OK(rosm_rd_create(e.pd, &init, &e.rd));
	}
	end_meet(&e);
	if (rank) {
		answer_one(&e);
	} else {
		ask_both(&e);
		next_event(&e, &ev);
		check_sent(&e, &ev, 1);
		CHECK_OK(rosm_rd_arm(e.rd));
		CHECK_EQ(rosm_rd_poll(e.rd, &ev), 1);
		check_sent(&e, &ev, 2);
		mp_send(mp, 2, "x", 1);
		CHECK_OK(rosm_rd_destroy(e.rd));
		CHECK_OK(rosm_channel_destroy(ch));
		CHECK_OK(rosm_pd_free(e.pd));
		CHECK_OK(rosm_ctx_close(e.ctx));
		return 0;
	}
	end_close(&e);
	return 0;
}

static void an_uncounted_answer_is_no_cause_to_sleep(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, arming, "1"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_uncounted_answer_hides_no_other),
		cmocka_unit_test(an_uncounted_answer_is_no_cause_to_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
