/* SPDX-License-Identifier: BSD-2-Clause */
/* RD: one side is killed in the middle; the other goes on. */
#include <config.h>

#include <unistd.h>

#include "engine/rd.h"
#include "tests/proc/rd_lib.h"

enum { BIG = 4 << 20 };

/* Polls until the dead peer is reported; counts what came before. */
static int until_dead(struct end *e, int dead, int type)
{
	struct rosm_rd_event ev;
	int n = 0;

	for (;;) {
		next_event(e, &ev);
		if (ev.type == ROSM_RD_EV_PEER_DEAD) {
			CHECK(ev.peer == e->peer[dead]);
			return n;
		}
		CHECK_EQ(ev.type, type);
		if (type == ROSM_RD_EV_MSG) {
			uint64_t value;

			CHECK_EQ(ev.len, sizeof(value));
			memcpy(&value, ev.payload, sizeof(value));
			CHECK_EQ(value, n);
			rosm_rd_release(e->rd, &ev);
		} else {
			CHECK_EQ(ev.status, -ECONNABORTED);
		}
		n++;
	}
}

/* Rank 2 goes on being served by rank 0, whoever died. */
static void survivors_talk(struct end *e, int a, int b)
{
	struct rosm_rd_event ev;
	uint8_t *buf = malloc(BIG);
	char c = 0;

	fill(buf, BIG, 9);
	if (e->rank == a) {
		mp_recv(e->mp, b, &c, 1);
		send_done(e, b, buf, 100, 1, 0);
		send_done(e, b, buf, BIG, 2, 0);
	} else {
		mp_send(e->mp, a, &c, 1);
		next_event(e, &ev);
		CHECK_EQ(ev.tag, 1);
		CHECK_OK(take_msg(e, &ev, buf, BIG));
		memset(buf, 0, BIG);
		next_event(e, &ev);
		CHECK_EQ(ev.tag, 2);
		CHECK_OK(take_msg(e, &ev, buf, BIG));
		check_fill(buf, BIG, 9);
	}
	free(buf);
}

static void die(struct end *e)
{
	mp_kill(e->mp, e->rank);
	for (;;)
		sched_yield();
}

/* ---- what a sender finished is delivered after its death ---- */

static int dead_sender(struct mp *mp, int rank, void *arg)
{
	enum { MESSAGES = 40 };
	uint64_t i;
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank == 1) {
		for (i = 0; i < MESSAGES; i++)
			send_done(&e, 0, &i, sizeof(i), i, 0);
		mp_send(mp, 0, "x", 1);
		die(&e);
	} else if (!rank) {
		char c;

		mp_recv(mp, 1, &c, 1);
		/* it was never met by a poll, and is gone by now */
		CHECK_EQ(mp_recv_timeout(mp, 1, &c, 1, 10000), -EPIPE);
		CHECK_EQ(until_dead(&e, 1, ROSM_RD_EV_MSG), MESSAGES);
		CHECK_LT(rosm_rd_send(e.rd, e.peer[1],
				      &(struct rosm_rd_msg){ .iov_count = 0 }),
			 0);
	}
	if (rank != 1) {
		survivors_talk(&e, 2, 0);
		end_close(&e);
	}
	return 0;
}

static void finished_messages_of_a_dead_sender_arrive(void **state)
{
	assert_int_equal(mp_run(3, dead_sender, *state), 0);
}

/* ---- a receiver dies with sends outstanding ---- */

static int dead_receiver(struct mp *mp, int rank, void *arg)
{
	enum { SENDS = 20 };
	uint8_t *buf = calloc(1, BIG);
	struct rosm_rd_event ev;
	struct end e;
	int i;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank == 1) {
		struct iovec iov = { buf, BIG };

		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
		if (!strcmp(arg, "0")) {
			/* in the middle of a pull */
			CHECK_EQ(rosm_rd_pull(e.rd, ev.peer, &ev.token, ev.len,
					      &iov, 1, NULL),
				 ROSM_RD_PENDING);
			for (i = 0; i < 20; i++)
				CHECK_EQ(rosm_rd_poll(e.rd, &ev) &&
					 ev.type != ROSM_RD_EV_MSG, 0);
		}
		die(&e);
	} else if (!rank) {
		struct iovec iov = { buf, BIG };
		struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };

		for (i = 0; i < SENDS; i++)
			CHECK_EQ(rosm_rd_send(e.rd, e.peer[1], &msg),
				 ROSM_RD_PENDING);
		CHECK_EQ(until_dead(&e, 1, ROSM_RD_EV_SENT), SENDS);
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[1], &msg), -ECONNABORTED);
	}
	if (rank != 1) {
		survivors_talk(&e, 0, 2);
		end_close(&e);
	}
	free(buf);
	return 0;
}

static void outstanding_sends_to_a_dead_receiver_fail(void **state)
{
	assert_int_equal(mp_run(3, dead_receiver, *state), 0);
}

/* ---- a sender dies while it is read ---- */

static int dead_source(struct mp *mp, int rank, void *arg)
{
	uint8_t *buf = calloc(1, BIG);
	struct iovec iov = { buf, BIG };
	struct rosm_rd_event ev;
	struct end e;
	int rc;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank == 1) {
		struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };

		CHECK_EQ(rosm_rd_send(e.rd, e.peer[0], &msg), ROSM_RD_PENDING);
		mp_barrier(mp);
		if (!strcmp(arg, "0"))
			for (rc = 0; rc < 3; rc++)
				rosm_rd_poll(e.rd, &ev);
		die(&e);
	}
	if (!rank) {
		char c;

		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
		mp_barrier(mp);
		if (strcmp(arg, "0"))
			CHECK_EQ(mp_recv_timeout(mp, 1, &c, 1, 10000), -EPIPE);
		rc = rosm_rd_pull(e.rd, ev.peer, &ev.token, ev.len, &iov, 1,
				  buf);
		if (rc == ROSM_RD_PENDING) {
			next_event(&e, &ev);
			CHECK_EQ(ev.type, ROSM_RD_EV_PULLED);
			rc = ev.status;
		}
		CHECK_EQ(rc, -ECONNABORTED);
		CHECK_EQ(until_dead(&e, 1, ROSM_RD_EV_MSG), 0);
	} else {
		mp_barrier(mp);
	}
	survivors_talk(&e, 0, 2);
	end_close(&e);
	free(buf);
	return 0;
}

static void a_pull_from_a_dead_sender_fails(void **state)
{
	assert_int_equal(mp_run(3, dead_source, *state), 0);
}

/* ---- a successor takes the slot before the dead one is buried ---- */

enum { WHOLE = 200000 };	/* a bounce ring holds all of it */

static void swap_names(struct end *e, int other)
{
	uint8_t name[ROSM_NAME_BYTES];

	rosm_rd_name(e->rd, name);
	mp_send(e->mp, other, name, sizeof(name));
	mp_recv(e->mp, other, name, sizeof(name));
	CHECK_OK(rosm_rd_peer_get(e->rd, name, &e->peer[other]));
}

static void produce_and_die(struct end *e, uint8_t *buf)
{
	struct iovec iov = { buf, WHOLE };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	char c;
	int i;

	fill(buf, WHOLE, 4);
	swap_names(e, 0);
	CHECK_EQ(rosm_rd_send(e->rd, e->peer[0], &msg), ROSM_RD_PENDING);
	mp_recv(e->mp, 0, &c, 1);
	for (i = 0; i < 100; i++)
		CHECK_EQ(rosm_rd_poll(e->rd, &ev), 0);
	die(e);
}

static void be_reaped(struct end *e, const struct rosm_peer *dead)
{
	const struct timespec ms5 = { .tv_nsec = 5000000 };

	while (!atomic_load(&dead->dead) || !dead->reaped) {
		rosm_ctx_progress(e->ctx);
		nanosleep(&ms5, NULL);
	}
}

static void outlive(struct end *e, uint8_t *buf)
{
	struct rosm_rd_msg msg = { .iov_count = 0 };
	struct iovec iov = { buf, WHOLE };
	const struct rosm_peer *dead, *next;
	struct rosm_rd_event ev;
	char c;

	memset(buf, 0, WHOLE);
	swap_names(e, 1);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
	CHECK_EQ(rosm_rd_pull(e->rd, ev.peer, &ev.token, ev.len, &iov, 1, buf),
		 ROSM_RD_PENDING);
	dead = ev.peer->peer;
	mp_send(e->mp, 1, "x", 1);
	CHECK_EQ(mp_recv_timeout(e->mp, 1, &c, 1, 10000), -EPIPE);
	be_reaped(e, dead);

	mp_send(e->mp, 2, "x", 1);
	swap_names(e, 2);
	CHECK_OK(rosm_rd_send(e->rd, e->peer[2], &msg));
	next = e->peer[2]->peer;
	CHECK_EQ(rosm_wire_who_slot(next->who), rosm_wire_who_slot(dead->who));

	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_PULLED);
	CHECK_OK(ev.status);
	check_fill(buf, WHOLE, 4);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_PEER_DEAD);
	/* now it costs nothing any more */
	CHECK_EQ(atomic_load(&dead->rwh->magic), 0);
}

static int successor(struct mp *mp, int rank, void *arg)
{
	uint8_t *buf = malloc(WHOLE);
	struct rosm_rd_event ev;
	struct end e;
	char c;

	if (rank == 2)
		mp_recv(mp, 0, &c, 1);
	end_open(&e, mp, rank, arg, 0);
	if (!rank) {
		outlive(&e, buf);
	} else if (rank == 1) {
		produce_and_die(&e, buf);
	} else {
		swap_names(&e, 0);
		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
	}
	end_close(&e);
	free(buf);
	return 0;
}

static void a_successor_leaves_what_is_to_be_rescued(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, successor, "0"), 0);
}

/* ---- a death while the ring never runs empty ---- */

static void flood(struct end *e)
{
	struct rosm_rd_msg msg = { .iov_count = 0 };
	char c;
	int i;

	do {
		for (i = 0; i < 1000; i++)
			(void)rosm_rd_send(e->rd, e->peer[0], &msg);
	} while (mp_recv_timeout(e->mp, 0, &c, 1, 0) == -ETIMEDOUT);
}

/* So that the next poll does not find the ring empty, nor the one after. */
static void await_two(struct end *e)
{
	struct rosm_ring *r = &e->rd->ring;
	uint64_t pos = r->head + 1, word;

	do {
		sched_yield();
		word = atomic_load(&r->slots[pos & r->mask].word);
	} while (rosm_slot_word_state(word) != ROSM_SLOT_PUBLISHED ||
		 rosm_slot_word_lap(word) != pos >> r->log2);
}

static void outlive_in_flood(struct end *e)
{
	struct rosm_rd_event ev;
	uint64_t word = 1;
	struct iovec iov = { &word, sizeof(word) };
	struct rosm_rd_msg msg = {
		.flags = ROSM_RD_ACK, .iov = &iov, .iov_count = 1,
	};

	CHECK_EQ(rosm_rd_send(e->rd, e->peer[1], &msg), ROSM_RD_PENDING);
	mp_kill(e->mp, 1);
	do {
		await_two(e);
		CHECK_EQ(rosm_rd_poll(e->rd, &ev), 1);
	} while (ev.type == ROSM_RD_EV_MSG);
	CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
	CHECK_EQ(ev.status, -ECONNABORTED);
	mp_send(e->mp, 2, "x", 1);
}

static int flooded(struct mp *mp, int rank, void *arg)
{
	struct end e;

	end_open(&e, mp, rank, arg, 64);
	end_meet(&e);
	mp_barrier(mp);
	if (rank == 1)
		for (;;)
			pause();
	if (!rank)
		outlive_in_flood(&e);
	else
		flood(&e);
	mp_send(mp, 2 - rank, "x", 1);
	mp_recv(mp, 2 - rank, &(char){ 0 }, 1);
	end_close(&e);
	return 0;
}

static void a_death_is_seen_while_others_keep_sending(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, flooded, "1"), 0);
}

/* ---- kills at any moment ---- */

static int storm(struct mp *mp, int rank, void *arg)
{
	enum { MESSAGES = 100000, LARGE = 100000 };
	uint8_t *buf = malloc(LARGE), *in = malloc(LARGE);
	struct rosm_rd_event ev;
	struct end e;
	uint64_t n;
	int dead = 0;

	end_open(&e, mp, rank, arg, 128);
	end_meet(&e);
	if (!rank)
		mp_send(mp, MP_PARENT, "x", 1);
	for (n = 0; rank && n < MESSAGES; n++) {
		size_t len = n % 3 == 0 ? LARGE : n % 3 == 1 ? 5000 : 8;

		/* nobody hears of the death of who never sent anything */
		if (n == 1)
			mp_send(mp, MP_PARENT, "x", 1);
		fill(buf, len, n);
		send_done(&e, 0, buf, len, n, 0);
	}
	if (!rank) {
		uint64_t next[RANKS_MAX] = { 0 };

		while (dead < mp_size(mp) - 1) {
			uint64_t from;
			int rc;

			next_event(&e, &ev);
			from = rosm_rd_peer_cookie(ev.peer);
			if (ev.type == ROSM_RD_EV_PEER_DEAD) {
				dead++;
				continue;
			}
			CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
			CHECK_EQ(ev.tag, next[from]++);
			n = ev.tag;
			if (ev.payload) {
				check_fill(ev.payload, ev.len, n);
				rosm_rd_release(e.rd, &ev);
				continue;
			}
			rc = rosm_rd_pull(e.rd, ev.peer, &ev.token, ev.len,
					  &(struct iovec){ in, LARGE }, 1,
					  in);
			while (rc == ROSM_RD_PENDING) {
				next_event(&e, &ev);
				if (ev.type == ROSM_RD_EV_PULLED) {
					rc = ev.status;
				} else if (ev.type == ROSM_RD_EV_PEER_DEAD) {
					dead++;
				} else {
					from = rosm_rd_peer_cookie(ev.peer);
					CHECK_EQ(ev.tag, next[from]++);
					rosm_rd_release(e.rd, &ev);
					if (ev.token.xfer)
						rosm_rd_answer(e.rd, ev.peer,
							       &ev.token, 0);
				}
			}
			if (!rc)
				check_fill(in, LARGE, n);
			else
				CHECK_EQ(rc, -ECONNABORTED);
		}
		end_close(&e);
	}
	free(buf);
	free(in);
	return 0;
}

static void kills_at_any_moment_leave_the_receiver_working(void **state)
{
	int round;

	for (round = 0; round < 6; round++) {
		struct mp *mp = mp_start(4, storm, *state);
		struct timespec ts = { 0, 5000000L + 7000000L * round };
		char c;
		int i;

		for (i = 0; i < 4; i++)
			mp_recv(mp, i, &c, 1);
		for (i = 1; i < 4; i++) {
			nanosleep(&ts, NULL);
			mp_kill(mp, i);
		}
		assert_int_equal(mp_finish(mp), 0);
	}
}

#define BOTH_WAYS(test) \
	{ #test, test, NULL, NULL, "1" }, \
	{ #test "_without_cma", test, NULL, NULL, "0" }

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH_WAYS(finished_messages_of_a_dead_sender_arrive),
		BOTH_WAYS(outstanding_sends_to_a_dead_receiver_fail),
		BOTH_WAYS(a_pull_from_a_dead_sender_fails),
		cmocka_unit_test(a_successor_leaves_what_is_to_be_rescued),
		cmocka_unit_test(a_death_is_seen_while_others_keep_sending),
		BOTH_WAYS(kills_at_any_moment_leave_the_receiver_working),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
