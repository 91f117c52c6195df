/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC between two processes through the verbs face: each operation arrives
 * whole, with the completions that IBTA 11.4 tells. Rank 0 acts on rank 1.
 */
#include <config.h>

#include "tests/proc/verbs_end.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <cmocka.h>

#include "tests/lib/assert.h"

enum { SIZE = 4 << 20, IMM = 0x01020304 };

static void fill(uint8_t *buf, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)(i * 7 + (i >> 8) + seed);
}

static void check_fill(const uint8_t *buf, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		if (buf[i] != (uint8_t)(i * 7 + (i >> 8) + seed))
			check_failed(__FILE__, __LINE__,
				     "byte %zu of %zu is wrong", i, len);
}

static const uint32_t lengths[] = { 0, 1, 8, 63, 64, 65, 255, 256, 4096, 8193,
				    65536, 1 << 20, SIZE };
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

/* ---- send and receive ---------------------------------------------------- */

static int send_worker(struct mp *mp, int rank, void *arg)
{
	enum ibv_wr_opcode opcode = *(enum ibv_wr_opcode *)arg;
	struct ibv_wc wc;
	struct end e;

	end_open(&e, SIZE, 0);
	end_connect(&e, mp, !rank);
	for (unsigned int i = 0; i < LENGTHS; i++) {
		uint32_t len = lengths[i];

		if (rank == 0) {
			fill(e.buf, len, i);
			mp_barrier(mp);
			end_post(&e, i, opcode, 0, len, IMM + i, 0);
			end_poll_good(&e, i, IBV_WC_SEND);
			continue;
		}
		memset(e.buf, 0, SIZE);
		end_recv(&e, 1000 + i, 0, SIZE);
		mp_barrier(mp);
		end_poll(&e, &wc);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, 1000 + i);
		CHECK_EQ(wc.opcode, IBV_WC_RECV);
		CHECK_EQ(wc.byte_len, len);
		CHECK_EQ(wc.qp_num, e.qp->qp_num);
		CHECK_EQ(wc.wc_flags, opcode == IBV_WR_SEND_WITH_IMM
					      ? IBV_WC_WITH_IMM : 0);
		if (opcode == IBV_WR_SEND_WITH_IMM)
			CHECK_EQ(wc.imm_data, IMM + i);
		check_fill(e.buf, len, i);
		if (len < SIZE)
			CHECK_EQ(e.buf[len], 0);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void send_of_any_length_arrives_whole(void **state)
{
	enum ibv_wr_opcode opcode = IBV_WR_SEND;

	(void)state;
	assert_int_equal(mp_run(2, send_worker, &opcode), 0);
}

static void send_with_imm_carries_the_value_untouched(void **state)
{
	enum ibv_wr_opcode opcode = IBV_WR_SEND_WITH_IMM;

	(void)state;
	assert_int_equal(mp_run(2, send_worker, &opcode), 0);
}

/* ---- write and read ------------------------------------------------------ */

static int write_worker(struct mp *mp, int rank, void *arg)
{
	enum ibv_wr_opcode opcode = *(enum ibv_wr_opcode *)arg;
	bool imm = opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc;
	struct end e;

	end_open(&e, SIZE, 0);
	end_connect(&e, mp, !rank);
	for (unsigned int i = 0; i < LENGTHS; i++) {
		uint32_t len = lengths[i];

		if (rank == 0) {
			fill(e.buf, len, i);
			mp_barrier(mp);
			end_post(&e, i, opcode, 0, len, IMM + i, 0);
			end_poll_good(&e, i, IBV_WC_RDMA_WRITE);
			mp_barrier(mp);
			continue;
		}
		memset(e.buf, 0, SIZE);
		if (imm)
			end_recv(&e, 1000 + i, 0, 0);
		mp_barrier(mp);
		if (imm) {
			end_poll(&e, &wc);
			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
			CHECK_EQ(wc.wr_id, 1000 + i);
			CHECK_EQ(wc.byte_len, len);
			CHECK_EQ(wc.imm_data, IMM + i);
			CHECK_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
			check_fill(e.buf, len, i);
		}
		mp_barrier(mp);
		check_fill(e.buf, len, i);
		CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void write_needs_nothing_of_the_target(void **state)
{
	enum ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;

	(void)state;
	assert_int_equal(mp_run(2, write_worker, &opcode), 0);
}

static void write_with_imm_takes_a_receive(void **state)
{
	enum ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE_WITH_IMM;

	(void)state;
	assert_int_equal(mp_run(2, write_worker, &opcode), 0);
}

static int read_worker(struct mp *mp, int rank, void *arg)
{
	struct end e;

	(void)arg;
	end_open(&e, SIZE, 0);
	if (rank == 1)
		fill(e.buf, SIZE, 5);
	end_connect(&e, mp, !rank);
	for (unsigned int i = 0; i < LENGTHS && rank == 0; i++) {
		memset(e.buf, 0, SIZE);
		end_post(&e, i, IBV_WR_RDMA_READ, 0, lengths[i], 0, 0);
		end_poll_good(&e, i, IBV_WC_RDMA_READ);
		check_fill(e.buf, lengths[i], 5);
		if (lengths[i] < SIZE)
			CHECK_EQ(e.buf[lengths[i]], 0);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void read_needs_nothing_of_the_target(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, read_worker, NULL), 0);
}

/* ---- lists, inline, signaling --------------------------------------------- */

static int inline_worker(struct mp *mp, int rank, void *arg)
{
	static const char text[] = "inline data needs no key";
	struct end e;

	(void)arg;
	end_open(&e, 4096, 0);
	if (rank == 1)
		end_to_init(&e), end_recv(&e, 7, 0, 4096);
	end_connect(&e, mp, !rank);
	if (rank == 0) {
		char gone[sizeof(text)];
		struct ibv_sge sge[2] = {
			{ (uintptr_t)gone, 6, 0xdead },
			{ (uintptr_t)gone + 6, sizeof(text) - 6, 0xbeef },
		};
		struct ibv_send_wr wr = {
			.wr_id = 3,
			.sg_list = sge,
			.num_sge = 2,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		}, *bad;

		memcpy(gone, text, sizeof(text));
		CHECK_OK(ibv_post_send(e.qp, &wr, &bad));
		memset(gone, 0, sizeof(gone));
		end_poll_good(&e, 3, IBV_WC_SEND);
	} else {
		end_poll_good(&e, 7, IBV_WC_RECV);
		CHECK_MEM(e.buf, text, sizeof(text));
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void inline_data_is_taken_at_the_post(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, inline_worker, NULL), 0);
}

/* Three requests gather from and scatter to lists; only the last is signaled. */
static int list_worker(struct mp *mp, int rank, void *arg)
{
	enum { N = 3, PIECE = 100 };
	struct ibv_sge sge[N][2];
	struct ibv_wc wc;
	struct end e;

	(void)arg;
	end_open(&e, 4096, 0);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < 2; j++)
			sge[i][j] = (struct ibv_sge){
				(uintptr_t)e.buf + (2 * i + 1 - j) * PIECE,
				PIECE, e.mr->lkey };
	if (rank == 1) {
		struct ibv_recv_wr wr[N] = { 0 }, *bad;

		for (int i = 0; i < N; i++) {
			wr[i].wr_id = i;
			wr[i].next = i + 1 < N ? &wr[i + 1] : NULL;
			wr[i].sg_list = sge[i];
			wr[i].num_sge = 2;
		}
		end_to_init(&e);
		CHECK_OK(ibv_post_recv(e.qp, wr, &bad));
	} else {
		fill(e.buf, 2 * N * PIECE, 9);
	}
	end_connect(&e, mp, !rank);
	if (rank == 0) {
		struct ibv_send_wr wr[N] = { 0 }, *bad;

		for (int i = 0; i < N; i++) {
			wr[i].wr_id = 10 + i;
			wr[i].next = i + 1 < N ? &wr[i + 1] : NULL;
			wr[i].sg_list = sge[i];
			wr[i].num_sge = 2;
			wr[i].opcode = IBV_WR_SEND;
			wr[i].send_flags = i + 1 < N ? 0 : IBV_SEND_SIGNALED;
		}
		CHECK_OK(ibv_post_send(e.qp, wr, &bad));
		end_poll_good(&e, 10 + N - 1, IBV_WC_SEND);
		CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
	} else {
		for (int i = 0; i < N; i++) {
			end_poll(&e, &wc);
			CHECK_EQ(wc.status, IBV_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, i);
			CHECK_EQ(wc.byte_len, 2 * PIECE);
		}
		check_fill(e.buf, 2 * N * PIECE, 9);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void lists_are_posted_in_order(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, list_worker, NULL), 0);
}

/* A bad request in a list: those before it are posted, it is named. */
static int bad_wr_worker(struct mp *mp, int rank, void *arg)
{
	struct end e;

	(void)arg;
	end_open(&e, 4096, 0);
	if (rank == 1)
		end_to_init(&e), end_recv(&e, 1, 0, 64);
	end_connect(&e, mp, !rank);
	if (rank == 0) {
		struct ibv_sge sge = { (uintptr_t)e.buf, 8, e.mr->lkey };
		struct ibv_send_wr wr[3], *bad = NULL;

		for (int i = 0; i < 3; i++)
			wr[i] = (struct ibv_send_wr){
				.wr_id = i,
				.next = i < 2 ? &wr[i + 1] : NULL,
				.sg_list = &sge,
				.num_sge = i == 1 ? 1000 : 1,
				.opcode = IBV_WR_SEND,
				.send_flags = IBV_SEND_SIGNALED };
		CHECK_EQ(ibv_post_send(e.qp, wr, &bad), EINVAL);
		CHECK(bad == &wr[1]);
		end_poll_good(&e, 0, IBV_WC_SEND);
	} else {
		end_poll_good(&e, 1, IBV_WC_RECV);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void bad_wr_names_the_first_that_was_not_posted(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, bad_wr_worker, NULL), 0);
}

/* ---- errors are completions ------------------------------------------------ */

static int rkey_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	struct end e;

	(void)arg;
	end_open(&e, 4096, 0);
	end_connect(&e, mp, !rank);
	if (rank == 0) {
		e.peer_rkey ^= 0x5a5a5a5a;
		end_post(&e, 1, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
		end_poll(&e, &wc);
		CHECK_EQ(wc.wr_id, 1);
		CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
		end_post(&e, 2, IBV_WR_RDMA_WRITE, 0, 8, 0, 0);
		end_poll(&e, &wc);
		CHECK_EQ(wc.wr_id, 2);
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		CHECK_OK(ibv_query_qp(e.qp, &attr, IBV_QP_STATE, &init));
		CHECK_EQ(attr.qp_state, IBV_QPS_ERR);
		CHECK_EQ(e.qp->state, IBV_QPS_ERR);
	}
	mp_barrier(mp);
	CHECK_EQ(e.buf[0], 0);
	end_close(&e);
	return 0;
}

static void wrong_rkey_completes_rem_access_err(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, rkey_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_of_any_length_arrives_whole),
		cmocka_unit_test(send_with_imm_carries_the_value_untouched),
		cmocka_unit_test(write_needs_nothing_of_the_target),
		cmocka_unit_test(write_with_imm_takes_a_receive),
		cmocka_unit_test(read_needs_nothing_of_the_target),
		cmocka_unit_test(inline_data_is_taken_at_the_post),
		cmocka_unit_test(lists_are_posted_in_order),
		cmocka_unit_test(bad_wr_names_the_first_that_was_not_posted),
		cmocka_unit_test(wrong_rkey_completes_rem_access_err),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
