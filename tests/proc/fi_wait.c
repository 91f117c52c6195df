/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping and dying: sread with and without a wait object, an fd with
 * trywait and poll, signal, event queues, and what a killed peer leaves to
 * those that wait for it.
 */
#include <config.h>

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "tests/proc/fi_end.h"

enum { LARGE = 1 << 20 };

static void nap_ms(long ms)
{
	struct timespec ts = { .tv_nsec = ms * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- sread ------------------------------------------------------------ */

static int sread_worker(struct mp *mp, int rank, void *arg)
{
	const enum fi_wait_obj *obj = arg;
	const struct fi_end_opts opts = { .caps = FI_MSG, .wait_obj = *obj };
	static uint8_t big[LARGE];
	struct fi_cq_tagged_entry c;
	struct fi_end e;
	int i;

	fi_end_open(&e, mp, rank, &opts);
	if (rank == 0) {
		for (i = 0; i < 5; i++) {
			nap_ms(30);
			CHECK_OK(FI_END_AGAIN(&e, fi_send(e.ep, big,
					i & 1 ? LARGE : 8, NULL, e.addr[1],
					big)));
			CHECK_EQ(fi_cq_sread(e.cq, &c, 1, NULL, -1), 1);
		}
	} else {
		CHECK_EQ(fi_cq_sread(e.cq, &c, 1, NULL, 10), -FI_EAGAIN);
		for (i = 0; i < 5; i++) {
			CHECK_OK(fi_recv(e.ep, big, LARGE, NULL, e.addr[0],
					 big));
			CHECK_EQ(fi_cq_sread(e.cq, &c, 1, NULL, -1), 1);
			CHECK_EQ(c.len, i & 1 ? LARGE : 8);
		}
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void sread_sleeps_until_a_completion(void **state)
{
	enum fi_wait_obj obj = FI_WAIT_UNSPEC;

	(void)state;
	assert_int_equal(mp_run(2, sread_worker, &obj), 0);
}

static void sread_polls_without_a_wait_object(void **state)
{
	enum fi_wait_obj obj = FI_WAIT_NONE;

	(void)state;
	assert_int_equal(mp_run(2, sread_worker, &obj), 0);
}

/* ---- fd --------------------------------------------------------------- */

static int fd_worker(struct mp *mp, int rank, void *arg)
{
	const struct fi_end_opts opts = { .caps = FI_MSG,
					  .wait_obj = FI_WAIT_FD };
	struct fi_cq_tagged_entry c;
	struct pollfd pfd = { .events = POLLIN };
	uint64_t word = 3;
	struct fid *fid;
	struct fi_end e;
	int i, ret;

	(void)arg;
	fi_end_open(&e, mp, rank, &opts);
	fid = &e.cq->fid;
	CHECK_OK(fi_control(fid, FI_GETWAIT, &pfd.fd));
	for (i = 0; i < 50; i++) {
		if (rank == 0) {
			if (i % 10 == 0)
				nap_ms(20);
			CHECK_OK(FI_END_AGAIN(&e, fi_inject(e.ep, &word, 8,
							    e.addr[1])));
			mp_recv(mp, 1, &ret, sizeof(ret));
			continue;
		}
		CHECK_OK(fi_recv(e.ep, &word, 8, NULL, e.addr[0], NULL));
		for (;;) {
			ssize_t n = fi_cq_read(e.cq, &c, 1);

			if (n == 1)
				break;
			CHECK_EQ(n, -FI_EAGAIN);
			ret = fi_trywait(e.fabric, &fid, 1);
			if (ret == -FI_EAGAIN)
				continue;
			CHECK_EQ(ret, 0);
			CHECK_EQ(poll(&pfd, 1, 10000), 1);
		}
		mp_send(mp, 0, &i, sizeof(i));
	}
	if (rank == 1) {
		/* nothing is there: the fd is not readable */
		CHECK_EQ(fi_trywait(e.fabric, &fid, 1), 0);
		CHECK_EQ(poll(&pfd, 1, 20), 0);
		CHECK_OK(fi_cq_signal(e.cq));
		CHECK_EQ(poll(&pfd, 1, 1000), 1);
		CHECK_EQ(fi_cq_sread(e.cq, &c, 1, NULL, -1), -FI_EAGAIN);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void the_fd_wakes_who_polls_it(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, fd_worker, NULL), 0);
}

static int trywait_worker(struct mp *mp, int rank, void *arg)
{
	const struct fi_end_opts opts = { .caps = FI_MSG,
					  .wait_obj = FI_WAIT_FD };
	struct fi_cq_tagged_entry c;
	uint64_t word = 3;
	struct fid *fid;
	struct fi_end e;
	int i, ret = 0;

	(void)arg;
	fi_end_open(&e, mp, rank, &opts);
	fid = &e.cq->fid;
	for (i = 0; i < 5; i++) {
		if (rank == 0) {
			mp_recv(mp, 1, &ret, sizeof(ret));
			CHECK_OK(FI_END_AGAIN(&e, fi_inject(e.ep, &word, 8,
							    e.addr[1])));
			mp_send(mp, 1, &ret, sizeof(ret));
			continue;
		}
		CHECK_OK(fi_recv(e.ep, &word, 8, NULL, e.addr[0], NULL));
		CHECK_EQ(fi_cq_read(e.cq, &c, 1), -FI_EAGAIN);
		mp_send(mp, 0, &ret, sizeof(ret));
		mp_recv(mp, 0, &ret, sizeof(ret));
		/* it is in the ring, and no call has looked there since */
		CHECK_EQ(fi_trywait(e.fabric, &fid, 1), -FI_EAGAIN);
		CHECK_EQ(fi_cq_read(e.cq, &c, 1), 1);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void trywait_sees_what_came_before_it(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, trywait_worker, NULL), 0);
}

/* ---- event queue ------------------------------------------------------ */

static int eq_worker(struct mp *mp, int rank, void *arg)
{
	const struct fi_end_opts opts = { .caps = FI_MSG };
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC,
				   .flags = FI_WRITE };
	struct fi_av_attr av_attr = { .flags = FI_EVENT };
	struct fi_eq_entry in = { .data = 5 }, out;
	struct fi_eq_err_entry err = { 0 };
	char names[2][64] = { { 0 } };
	size_t len = 64;
	fi_addr_t addr[2];
	struct fid_eq *eq;
	struct fid_av *av;
	struct fi_end e;
	uint32_t event;

	(void)arg;
	fi_end_open(&e, NULL, rank, &opts);
	(void)mp;
	CHECK_OK(fi_eq_open(e.fabric, &attr, &eq, &e));
	CHECK_EQ(fi_eq_sread(eq, &event, &out, sizeof(out), 10, 0),
		 -FI_EAGAIN);
	CHECK_EQ(fi_eq_write(eq, 99, &in, sizeof(in), 0), sizeof(in));
	CHECK_EQ(fi_eq_read(eq, &event, &out, 1, 0), -FI_ETOOSMALL);
	CHECK_EQ(fi_eq_read(eq, &event, &out, sizeof(out), FI_PEEK),
		 sizeof(out));
	CHECK_EQ(fi_eq_sread(eq, &event, &out, sizeof(out), -1, 0),
		 sizeof(out));
	CHECK_EQ(event, 99);
	CHECK_EQ(out.data, 5);
	CHECK_EQ(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);

	/* asynchronous insertion: one good, one bad address */
	CHECK_OK(fi_getname(&e.ep->fid, names[0], &len));
	CHECK_OK(fi_av_open(e.domain, &av_attr, &av, NULL));
	CHECK_EQ(fi_av_insert(av, names, 2, addr, 0, &in), -FI_ENOEQ);
	CHECK_OK(fi_av_bind(av, &eq->fid, 0));
	CHECK_OK(fi_av_insert(av, names, 2, addr, 0, &in));
	CHECK_EQ(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAVAIL);
	CHECK_EQ(fi_eq_readerr(eq, &err, 0), sizeof(err));
	CHECK_EQ(err.err, FI_EINVAL);
	CHECK_EQ(err.data, 1);
	CHECK_EQ(fi_eq_read(eq, &event, &out, sizeof(out), 0), sizeof(out));
	CHECK_EQ(event, FI_AV_COMPLETE);
	CHECK_EQ(out.data, 1);
	CHECK(out.context == &in);
	CHECK_EQ(addr[0], 0);
	CHECK_EQ(addr[1], FI_ADDR_NOTAVAIL);
	CHECK_EQ(fi_close(&eq->fid), -FI_EBUSY);
	CHECK_OK(fi_close(&av->fid));
	CHECK_OK(fi_close(&eq->fid));
	fi_end_close(&e);
	return 0;
}

static void event_queues_hold_events_in_order(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, eq_worker, NULL), 0);
}

/* ---- death ------------------------------------------------------------ */

static int death_worker(struct mp *mp, int rank, void *arg)
{
	const enum fi_wait_obj *obj = arg;
	const struct fi_end_opts opts = {
		.caps = FI_TAGGED | FI_DIRECTED_RECV,
		.wait_obj = *obj,
	};
	static uint8_t big[LARGE], other[LARGE];
	struct fi_cq_tagged_entry c;
	struct fi_cq_err_entry err = { 0 };
	struct fi_end e;
	int aborted = 0;
	ssize_t ret;

	fi_end_open(&e, mp, rank, &opts);
	if (rank == 1) {
		/* contact, then silence */
		CHECK_OK(FI_END_AGAIN(&e, fi_tinject(e.ep, big, 8, e.addr[0],
						     1)));
		for (;;)
			nap_ms(100);
	}
	CHECK_OK(fi_trecv(e.ep, other, 8, NULL, e.addr[1], 1, 0, &c));
	CHECK(fi_end_wait(&e).op_context == &c);
	/* a send and a receive that wait for the other side */
	CHECK_OK(FI_END_AGAIN(&e, fi_tsend(e.ep, big, LARGE, NULL, e.addr[1],
					   2, big)));
	CHECK_OK(fi_trecv(e.ep, other, LARGE, NULL, e.addr[1], 3, 0, other));
	fi_end_quiet(&e);
	mp_kill(mp, 1);
	while (aborted < 2) {
		ret = *obj == FI_WAIT_NONE ? fi_cq_read(e.cq, &c, 1) :
				fi_cq_sread(e.cq, &c, 1, NULL, -1);
		if (ret == -FI_EAGAIN)
			continue;
		CHECK_EQ(ret, -FI_EAVAIL);
		CHECK_EQ(fi_cq_readerr(e.cq, &err, 0), 1);
		CHECK_EQ(err.err, FI_ECONNABORTED);
		CHECK(err.op_context == big || err.op_context == other);
		aborted++;
	}
	/* later ones fail at once */
	CHECK_EQ(fi_tinject(e.ep, big, 8, e.addr[1], 4), -FI_ECONNABORTED);
	CHECK_OK(fi_tsend(e.ep, big, 8, NULL, e.addr[1], 4, big));
	fi_end_wait_err(&e, FI_ECONNABORTED);
	CHECK_OK(fi_trecv(e.ep, big, 8, NULL, e.addr[1], 4, 0, big));
	fi_end_wait_err(&e, FI_ECONNABORTED);
	fi_end_close(&e);
	return 0;
}

/* Rank 1 never sends; it dies before or after the receives are posted. */
static int silent_worker(struct mp *mp, int rank, void *arg)
{
	const struct fi_end_opts opts = {
		.caps = FI_TAGGED | FI_DIRECTED_RECV,
	};
	const bool *before = arg;
	struct fi_end e;
	uint64_t word;

	fi_end_open(&e, mp, rank, &opts);
	if (rank == 1)
		for (;;)
			nap_ms(100);
	if (*before) {
		mp_kill(mp, 1);
		nap_ms(200);
	}
	CHECK_OK(fi_trecv(e.ep, &word, 8, NULL, e.addr[1], 3, 0, &word));
	if (!*before)
		mp_kill(mp, 1);
	fi_end_wait_err(&e, FI_ECONNABORTED);
	fi_end_close(&e);
	return 0;
}

static void receives_from_one_that_died_silently_abort(void **state)
{
	bool before = false;

	(void)state;
	assert_int_equal(mp_run(2, silent_worker, &before), 0);
	before = true;
	assert_int_equal(mp_run(2, silent_worker, &before), 0);
}

static void a_killed_peer_aborts_what_waits_for_it(void **state)
{
	enum fi_wait_obj obj = FI_WAIT_NONE;

	(void)state;
	assert_int_equal(mp_run(2, death_worker, &obj), 0);
}

static void a_killed_peer_wakes_who_sleeps(void **state)
{
	enum fi_wait_obj obj = FI_WAIT_UNSPEC;

	(void)state;
	assert_int_equal(mp_run(2, death_worker, &obj), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sread_sleeps_until_a_completion),
		cmocka_unit_test(sread_polls_without_a_wait_object),
		cmocka_unit_test(the_fd_wakes_who_polls_it),
		cmocka_unit_test(trywait_sees_what_came_before_it),
		cmocka_unit_test(event_queues_hold_events_in_order),
		cmocka_unit_test(a_killed_peer_aborts_what_waits_for_it),
		cmocka_unit_test(a_killed_peer_wakes_who_sleeps),
		cmocka_unit_test(receives_from_one_that_died_silently_abort),
	};

	fi_end_load();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
