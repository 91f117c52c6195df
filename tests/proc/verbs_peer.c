/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a peer's fate does to a verbs program: one that is stopped delays
 * nobody, one that is killed leaves error completions and wakes who sleeps.
 * Rank 0 is the survivor.
 */
#include <config.h>

#include "tests/proc/verbs_end.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/lib/assert.h"

enum { SIZE = 1 << 20, HALF = SIZE / 2, RECVS = 3 };

static void wait_for_byte(struct mp *mp, int from)
{
	char byte;

	mp_recv(mp, from, &byte, 1);
}

static void send_byte(struct mp *mp, int to)
{
	mp_send(mp, to, "", 1);
}

/* ---- stopped ---------------------------------------------------------------- */

static int stopped_worker(struct mp *mp, int rank, void *arg)
{
	struct end e;

	(void)arg;
	end_open(&e, SIZE, 0);
	memset(e.buf, rank ? 'b' : 'a', SIZE);
	end_to_init(&e);
	for (int i = 0; i < RECVS && rank == 1; i++)
		end_recv(&e, i, i * 1000, 1000);
	end_connect(&e, mp, !rank);
	if (rank == 1) {
		send_byte(mp, 0);
		wait_for_byte(mp, 0);
		for (int i = 0; i < RECVS; i++) {
			end_poll_good(&e, i, IBV_WC_RECV);
			CHECK_EQ(e.buf[i * 1000 + 999], 'a');
		}
		CHECK_EQ(e.buf[RECVS * 1000], 'b');
		CHECK_EQ(e.buf[HALF], 'a');
		CHECK_EQ(e.buf[SIZE - 1], 'a');
		mp_barrier(mp);
		end_close(&e);
		return 0;
	}
	wait_for_byte(mp, 1);
	mp_stop(mp, 1);
	end_post(&e, 1, IBV_WR_RDMA_WRITE, HALF, HALF, 0, 0);
	end_poll_good(&e, 1, IBV_WC_RDMA_WRITE);
	end_post(&e, 2, IBV_WR_RDMA_READ, 0, 4096, 0, 0);
	end_poll_good(&e, 2, IBV_WC_RDMA_READ);
	CHECK_EQ(e.buf[0], 'b');
	memset(e.buf, 'a', 4096);
	for (int i = 0; i < RECVS; i++) {
		end_post(&e, 3 + i, IBV_WR_SEND, 0, 1000, 0, 0);
		end_poll_good(&e, 3 + i, IBV_WC_SEND);
	}
	mp_cont(mp, 1);
	send_byte(mp, 1);
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void stopped_target_delays_nobody(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, stopped_worker, NULL), 0);
}

/* ---- killed ----------------------------------------------------------------- */

/* Sends for which there is no receive, when their target dies. */
static int killed_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_wc wc;
	struct end e;

	(void)arg;
	end_open(&e, 4096, 0);
	end_connect(&e, mp, !rank);
	if (rank == 1) {
		send_byte(mp, 0);
		wait_for_byte(mp, 0);
		return 1;
	}
	wait_for_byte(mp, 1);
	for (int i = 0; i < RECVS; i++)
		end_post(&e, i, IBV_WR_SEND, 0, 8, 0, 0);
	end_recv(&e, 100, 0, 8);
	CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
	mp_kill(mp, 1);
	for (int i = 0; i < RECVS; i++) {
		end_poll(&e, &wc);
		/* Flushed receives may come between. */
		if (wc.wr_id == 100) {
			CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
			end_poll(&e, &wc);
		}
		CHECK_EQ(wc.wr_id, i);
		CHECK_EQ(wc.status, i ? IBV_WC_WR_FLUSH_ERR
				      : IBV_WC_RETRY_EXC_ERR);
	}
	end_close(&e);
	return 0;
}

static void killed_target_completes_in_error(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, killed_worker, NULL), 0);
}

static int sleeper_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct end e;
	void *context;

	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	end_connect(&e, mp, !rank);
	if (rank == 1) {
		send_byte(mp, 0);
		wait_for_byte(mp, 0);
		return 1;
	}
	wait_for_byte(mp, 1);
	CHECK_OK(ibv_req_notify_cq(e.cq, 0));
	end_post(&e, 1, IBV_WR_SEND, 0, 8, 0, 0);
	CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
	mp_kill(mp, 1);
	CHECK_OK(ibv_get_cq_event(e.channel, &cq, &context));
	CHECK(cq == e.cq);
	ibv_ack_cq_events(cq, 1);
	end_poll(&e, &wc);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	end_close(&e);
	return 0;
}

static void death_wakes_a_sleeper(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, sleeper_worker, NULL), 0);
}

/* ---- no helpers --------------------------------------------------------------- */

static int count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	CHECK(dir != NULL);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

static int threads_worker(struct mp *mp, int rank, void *arg)
{
	int before = count_threads();
	struct end e;

	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	end_to_init(&e);
	end_recv(&e, 1, 0, 8);
	end_connect(&e, mp, !rank);
	end_post(&e, 2, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
	end_poll_good(&e, 2, IBV_WC_RDMA_WRITE);
	CHECK_EQ(count_threads(), before);
	mp_barrier(mp);
	end_close(&e);
	CHECK_EQ(count_threads(), before);
	return 0;
}

static void no_thread_is_made(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, threads_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_target_delays_nobody),
		cmocka_unit_test(killed_target_completes_in_error),
		cmocka_unit_test(death_wakes_a_sleeper),
		cmocka_unit_test(no_thread_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
