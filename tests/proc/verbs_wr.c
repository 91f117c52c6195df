/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ibv_wr_* way of posting: batches are posted whole or not at all, errors
 * of building come out of ibv_wr_complete, and what is built does the same as
 * a request of ibv_post_send. Rank 0 acts on rank 1.
 */
#include <config.h>

#include "tests/proc/verbs_end.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/lib/assert.h"

enum { SIZE = 8192, IMM = 0x0a0b0c0d };

static void begin(struct end *e, uint64_t wr_id, unsigned int flags)
{
	e->qpx->wr_id = wr_id;
	e->qpx->wr_flags = flags;
}

static uint64_t at(const struct end *e, size_t offset)
{
	return (uintptr_t)e->buf + offset;
}

/* Five operations in one batch, the last alone signaled. */
static int batch_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_data_buf pieces[2] = { { "gathered ", 9 }, { "inline", 7 } };
	struct ibv_wc wc;
	struct end e;

	(void)arg;
	end_open(&e, SIZE, END_WR);
	end_to_init(&e);
	memset(e.buf, rank ? 'B' : 'A', SIZE);
	if (rank == 1) {
		end_recv(&e, 1, 0, 100);
		end_recv(&e, 2, 100, 100);
		end_recv(&e, 3, 0, 0);
	}
	end_connect(&e, mp, !rank);
	if (rank == 0) {
		struct ibv_sge list[2] = { { at(&e, 0), 10, e.mr->lkey },
					   { at(&e, 50), 20, e.mr->lkey } };

		ibv_wr_start(e.qpx);
		begin(&e, 10, 0);
		ibv_wr_send(e.qpx);
		ibv_wr_set_sge(e.qpx, e.mr->lkey, at(&e, 0), 64);
		begin(&e, 11, 0);
		ibv_wr_send_imm(e.qpx, IMM);
		ibv_wr_set_inline_data_list(e.qpx, 2, pieces);
		begin(&e, 12, 0);
		ibv_wr_rdma_write(e.qpx, e.peer_rkey, e.peer_addr + 300);
		ibv_wr_set_sge_list(e.qpx, 2, list);
		begin(&e, 13, 0);
		ibv_wr_rdma_read(e.qpx, e.peer_rkey, e.peer_addr + 1000);
		ibv_wr_set_sge(e.qpx, e.mr->lkey, at(&e, 1000), 50);
		begin(&e, 14, IBV_SEND_SIGNALED);
		ibv_wr_rdma_write_imm(e.qpx, e.peer_rkey, e.peer_addr + 400,
				      IMM + 1);
		ibv_wr_set_inline_data(e.qpx, "told", 5);
		CHECK_OK(ibv_wr_complete(e.qpx));
		end_poll_good(&e, 14, IBV_WC_RDMA_WRITE);
		CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
		CHECK_EQ(e.buf[1000], 'B');
		CHECK_EQ(e.buf[1049], 'B');
		CHECK_EQ(e.buf[1050], 'A');
	} else {
		end_poll(&e, &wc);
		CHECK_EQ(wc.wr_id, 1);
		CHECK_EQ(wc.byte_len, 64);
		CHECK_EQ(e.buf[63], 'A');
		CHECK_EQ(e.buf[64], 'B');
		end_poll(&e, &wc);
		CHECK_EQ(wc.wr_id, 2);
		CHECK_EQ(wc.imm_data, IMM);
		CHECK_STR((char *)e.buf + 100, "gathered inline");
		end_poll(&e, &wc);
		CHECK_EQ(wc.wr_id, 3);
		CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		CHECK_EQ(wc.imm_data, IMM + 1);
		CHECK_EQ(wc.byte_len, 5);
		CHECK_STR((char *)e.buf + 400, "told");
		CHECK_EQ(e.buf[329], 'A');
		CHECK_EQ(e.buf[330], 'B');
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void batch_of_all_operations_arrives(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, batch_worker, NULL), 0);
}

/* ---- nothing of a bad batch ------------------------------------------------ */

static void good_send(struct end *e)
{
	begin(e, 1, IBV_SEND_SIGNALED);
	ibv_wr_send(e->qpx);
	ibv_wr_set_sge(e->qpx, e->mr->lkey, at(e, 0), 8);
}

static void too_many_sges(struct end *e)
{
	struct ibv_sge list[64] = { 0 };

	ibv_wr_send(e->qpx);
	ibv_wr_set_sge_list(e->qpx, 64, list);
}

static void too_much_inline(struct end *e)
{
	static char data[1 << 20];

	ibv_wr_send(e->qpx);
	ibv_wr_set_inline_data(e->qpx, data, sizeof(data));
}

static void atomic(struct end *e)
{
	ibv_wr_atomic_fetch_add(e->qpx, e->peer_rkey, e->peer_addr, 1);
	ibv_wr_set_sge(e->qpx, e->mr->lkey, at(e, 0), 8);
}

static void unknown_flag(struct end *e)
{
	begin(e, 1, 1 << 20);
	ibv_wr_send(e->qpx);
}

static void more_than_the_queue_holds(struct end *e)
{
	for (int i = 0; i < 100000; i++)
		good_send(e);
}

static const struct {
	void (*build)(struct end *e);
	int err;
} bad[] = {
	{ too_many_sges, EINVAL },
	{ too_much_inline, EINVAL },
	{ atomic, EOPNOTSUPP },
	{ unknown_flag, EINVAL },
	{ more_than_the_queue_holds, ENOMEM },
};

static int bad_batch_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_wc wc;
	struct end e;

	(void)arg;
	end_open(&e, SIZE, END_WR);
	end_to_init(&e);
	if (rank == 1)
		end_recv(&e, 1, 0, 100);
	end_connect(&e, mp, !rank);
	if (rank == 0) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			ibv_wr_start(e.qpx);
			good_send(&e);
			bad[i].build(&e);
			errno = 0;
			CHECK_EQ(ibv_wr_complete(e.qpx), bad[i].err);
			CHECK_EQ(errno, bad[i].err);
		}
		/* A setter that comes before any request. */
		ibv_wr_start(e.qpx);
		ibv_wr_set_sge(e.qpx, e.mr->lkey, at(&e, 0), 8);
		CHECK_EQ(ibv_wr_complete(e.qpx), EINVAL);
		/* Given up by the program. */
		ibv_wr_start(e.qpx);
		good_send(&e);
		ibv_wr_abort(e.qpx);
		/* Empty. */
		ibv_wr_start(e.qpx);
		CHECK_OK(ibv_wr_complete(e.qpx));
		CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
	}
	mp_barrier(mp);
	if (rank == 1)
		CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
	mp_barrier(mp);
	/* The way is still good. */
	if (rank == 0) {
		ibv_wr_start(e.qpx);
		good_send(&e);
		CHECK_OK(ibv_wr_complete(e.qpx));
		end_poll_good(&e, 1, IBV_WC_SEND);
	} else {
		end_poll_good(&e, 1, IBV_WC_RECV);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void nothing_of_a_bad_batch_is_posted(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, bad_batch_worker, NULL), 0);
}

static int reset_worker(struct mp *mp, int rank, void *arg)
{
	struct end e;

	(void)mp;
	(void)rank;
	(void)arg;
	end_open(&e, SIZE, END_WR);
	ibv_wr_start(e.qpx);
	good_send(&e);
	CHECK_EQ(ibv_wr_complete(e.qpx), EINVAL);
	end_close(&e);
	return 0;
}

static void complete_in_reset_says_einval(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, reset_worker, NULL), 0);
}

/* ---- threads ---- */

enum { THREADS = 2, EACH = 300 };

struct poster {
	struct end *e;
	uint32_t number;
};

/* Batches of two, each request with its thread's number and place. */
static void *post_batches(void *arg)
{
	const struct poster *p = arg;

	for (uint32_t i = 0; i < EACH; i += 2) {
		int err;

		do {
			ibv_wr_start(p->e->qpx);
			for (uint32_t k = i; k < i + 2; k++) {
				uint32_t what[2] = { p->number, k };

				begin(p->e, k, IBV_SEND_SIGNALED);
				ibv_wr_send_imm(p->e->qpx, k);
				ibv_wr_set_inline_data(p->e->qpx, what,
						       sizeof(what));
			}
			err = ibv_wr_complete(p->e->qpx);
			CHECK(err == 0 || err == ENOMEM);
		} while (err);
	}
	return NULL;
}

static void receive_from_threads(struct end *e)
{
	uint32_t next[THREADS] = { 0 }, what[2];
	struct ibv_wc wc;

	for (int i = 0; i < THREADS * EACH; i++) {
		end_poll(e, &wc);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		memcpy(what, e->buf + wc.wr_id * 8, sizeof(what));
		CHECK_LT(what[0], THREADS);
		CHECK_EQ(what[1], next[what[0]]);
		CHECK_EQ(wc.imm_data, what[1]);
		next[what[0]]++;
		end_recv(e, wc.wr_id, wc.wr_id * 8, 8);
	}
}

static int threads_worker(struct mp *mp, int rank, void *arg)
{
	struct poster posters[THREADS];
	pthread_t threads[THREADS];
	struct end e;

	(void)arg;
	end_open(&e, SIZE, END_WR);
	end_to_init(&e);
	for (int i = 0; i < END_DEPTH && rank == 1; i++)
		end_recv(&e, i, i * 8, 8);
	end_connect(&e, mp, !rank);
	if (rank == 1) {
		receive_from_threads(&e);
	} else {
		for (uint32_t t = 0; t < THREADS; t++) {
			posters[t] = (struct poster){ &e, t };
			CHECK_OK(pthread_create(&threads[t], NULL,
						post_batches, &posters[t]));
		}
		for (int i = 0; i < THREADS * EACH; i++) {
			struct ibv_wc wc;

			end_poll(&e, &wc);
			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		}
		for (int t = 0; t < THREADS; t++)
			CHECK_OK(pthread_join(threads[t], NULL));
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void threads_post_batches_side_by_side(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, threads_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batch_of_all_operations_arrives),
		cmocka_unit_test(nothing_of_a_bad_batch_is_posted),
		cmocka_unit_test(complete_in_reset_says_einval),
		cmocka_unit_test(threads_post_batches_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
