/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels and asynchronous events of the verbs face across two
 * processes: sleepers wake, non-blocking readers do not wait, and what was read
 * must be acknowledged before its object goes.
 */
#include <config.h>

#include "tests/proc/verbs_end.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "tests/lib/assert.h"

static void sleep_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void set_nonblocking(int fd)
{
	CHECK_OK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
}

/* Waits in ibv_get_cq_event for the event of the end's CQ. */
static void get_event(struct end *e)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	CHECK_OK(ibv_get_cq_event(e->channel, &cq, &context));
	CHECK(cq == e->cq);
	CHECK(context == e);
}

/* ---- a sleeper wakes ------------------------------------------------------- */

enum { ROUNDS = 200 };

static int wake_worker(struct mp *mp, int rank, void *arg)
{
	struct end e;

	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	end_to_init(&e);
	end_recv(&e, 0, 0, 64);
	CHECK_OK(ibv_req_notify_cq(e.cq, 0));
	end_connect(&e, mp, !rank);
	/* Ping-pong in which each side sleeps for the other's message. */
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_wc wc[4];
		int got = 0, n;

		if (rank == 0)
			end_post(&e, 1, IBV_WR_SEND, 0, 64, 0, 0);
		for (bool received = false; !received;) {
			get_event(&e);
			ibv_ack_cq_events(e.cq, 1);
			CHECK_OK(ibv_req_notify_cq(e.cq, 0));
			while ((n = ibv_poll_cq(e.cq, 4, wc)) > 0)
				for (int k = 0; k < n; k++) {
					CHECK_EQ(wc[k].status, IBV_WC_SUCCESS);
					received |= wc[k].opcode == IBV_WC_RECV;
					got++;
				}
			CHECK_EQ(n, 0);
		}
		CHECK_GT(got, 0);
		end_recv(&e, 0, 0, 64);
		if (rank == 1)
			end_post(&e, 1, IBV_WR_SEND, 0, 64, 0, 0);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void sleeper_wakes_for_each_message(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, wake_worker, NULL), 0);
}

/* ---- non-blocking ---------------------------------------------------------- */

static int nonblocking_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_cq *cq;
	struct pollfd pfd;
	struct ibv_async_event event;
	struct end e;
	void *context;

	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	set_nonblocking(e.channel->fd);
	set_nonblocking(e.ctx->async_fd);
	end_to_init(&e);
	end_recv(&e, 0, 0, 64);
	errno = 0;
	CHECK_EQ(ibv_get_cq_event(e.channel, &cq, &context), -1);
	CHECK_EQ(errno, EAGAIN);
	errno = 0;
	CHECK_EQ(ibv_get_async_event(e.ctx, &event), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_OK(ibv_req_notify_cq(e.cq, 0));
	end_connect(&e, mp, !rank);
	pfd = (struct pollfd){ .fd = e.channel->fd, .events = POLLIN };
	if (rank == 1) {
		struct ibv_wc wc;

		/* A wake-up without an event is allowed, a lost one is not. */
		for (int err = -1; err;) {
			CHECK_EQ(poll(&pfd, 1, 10000), 1);
			err = ibv_get_cq_event(e.channel, &cq, &context);
			if (err)
				CHECK_EQ(errno, EAGAIN);
		}
		CHECK(cq == e.cq && context == &e);
		/* Armed once, told once. */
		CHECK_EQ(ibv_get_cq_event(e.channel, &cq, &context), -1);
		CHECK_EQ(errno, EAGAIN);
		CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 1);
		ibv_ack_cq_events(e.cq, 1);
	} else {
		sleep_ms(50);
		end_post(&e, 1, IBV_WR_SEND, 0, 64, 0, 0);
		end_poll_good(&e, 1, IBV_WC_SEND);
		CHECK_OK(ibv_get_cq_event(e.channel, &cq, &context));
		ibv_ack_cq_events(e.cq, 1);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void nonblocking_channel_says_eagain_and_polls(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, nonblocking_worker, NULL), 0);
}

/* ---- solicited ------------------------------------------------------------- */

static int solicited_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_cq *cq;
	struct end e;
	void *context;

	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	set_nonblocking(e.channel->fd);
	end_to_init(&e);
	end_recv(&e, 1, 0, 64);
	end_recv(&e, 2, 0, 64);
	if (rank == 1)
		CHECK_OK(ibv_req_notify_cq(e.cq, 1));
	end_connect(&e, mp, !rank);
	for (int i = 1; i <= 2; i++) {
		if (rank == 0) {
			end_post(&e, i, IBV_WR_SEND, 0, 8, 0,
				 i == 2 ? IBV_SEND_SOLICITED : 0);
			end_poll_good(&e, i, IBV_WC_SEND);
			mp_barrier(mp);
			mp_barrier(mp);
			continue;
		}
		mp_barrier(mp);
		if (i == 2) {
			CHECK_OK(ibv_get_cq_event(e.channel, &cq, &context));
			ibv_ack_cq_events(e.cq, 1);
		}
		end_poll_good(&e, i, IBV_WC_RECV);
		CHECK_EQ(ibv_get_cq_event(e.channel, &cq, &context), -1);
		CHECK_EQ(errno, EAGAIN);
		mp_barrier(mp);
	}
	end_close(&e);
	return 0;
}

static void solicited_only_skips_other_messages(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, solicited_worker, NULL), 0);
}

/* ---- acknowledgement ------------------------------------------------------- */

static atomic_int destroyed;

static void *destroy_cq(void *arg)
{
	CHECK_OK(ibv_destroy_cq(arg));
	atomic_store(&destroyed, 1);
	return NULL;
}

static void *destroy_qp(void *arg)
{
	CHECK_OK(ibv_destroy_qp(arg));
	atomic_store(&destroyed, 1);
	return NULL;
}

static void close_rest(struct end *e)
{
	CHECK_OK(ibv_dereg_mr(e->mr));
	CHECK_OK(ibv_destroy_comp_channel(e->channel));
	CHECK_OK(ibv_dealloc_pd(e->pd));
	CHECK_OK(ibv_close_device(e->ctx));
	free(e->buf);
}

static int ack_worker(struct mp *mp, int rank, void *arg)
{
	pthread_t thread;
	struct end e;

	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	end_to_init(&e);
	end_recv(&e, 1, 0, 64);
	CHECK_OK(ibv_req_notify_cq(e.cq, 0));
	end_connect(&e, mp, !rank);
	end_post(&e, 2, IBV_WR_SEND, 0, 8, 0, 0);
	get_event(&e);
	mp_barrier(mp);
	CHECK_OK(ibv_destroy_qp(e.qp));
	CHECK_OK(pthread_create(&thread, NULL, destroy_cq, e.cq));
	sleep_ms(200);
	CHECK_EQ(atomic_load(&destroyed), 0);
	ibv_ack_cq_events(e.cq, 1);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_EQ(atomic_load(&destroyed), 1);
	close_rest(&e);
	return 0;
}

static void destroy_cq_waits_for_acknowledgement(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, ack_worker, NULL), 0);
}

/* A peer that writes where it must not makes its target's QP fail. */
static int async_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_async_event event;
	pthread_t thread;
	struct ibv_wc wc;
	struct end e;

	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	end_connect(&e, mp, !rank);
	if (rank == 0) {
		e.peer_addr += 4096;
		end_post(&e, 1, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
		end_poll(&e, &wc);
		CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
		mp_barrier(mp);
		end_close(&e);
		return 0;
	}
	CHECK_OK(ibv_get_async_event(e.ctx, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	CHECK(event.element.qp == e.qp);
	mp_barrier(mp);
	CHECK_OK(pthread_create(&thread, NULL, destroy_qp, e.qp));
	sleep_ms(200);
	CHECK_EQ(atomic_load(&destroyed), 0);
	ibv_ack_async_event(&event);
	CHECK_OK(pthread_join(thread, NULL));
	CHECK_OK(ibv_destroy_cq(e.cq));
	close_rest(&e);
	return 0;
}

static void access_error_is_an_event_that_destroy_waits_for(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, async_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeper_wakes_for_each_message),
		cmocka_unit_test(nonblocking_channel_says_eagain_and_polls),
		cmocka_unit_test(solicited_only_skips_other_messages),
		cmocka_unit_test(destroy_cq_waits_for_acknowledgement),
		cmocka_unit_test(access_error_is_an_event_that_destroy_waits_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
