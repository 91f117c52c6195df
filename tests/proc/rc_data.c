/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC between two processes: data, order, completions. Rank 0 and rank 1 play
 * different parts of one script. Built a second time with RC_BOUNCE, where
 * neither process may reach the other's memory.
 */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/assert.h"
#include "tests/lib/mp.h"
#include "tests/proc/rcpair.h"

static const uint32_t sizes[] = {
	0, 1, 7, 8, 31, 32, 33, 64, 95, 96, 97, 512, 1024, 4095, 4096, 4097,
	8192, 65536, 65537, 1 << 20, (1 << 20) + 3,
};

#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

static void sync_with(struct mp *mp, int peer)
{
	char c = 1;

	mp_send(mp, peer, &c, 1);
	mp_recv(mp, peer, &c, 1);
}

static int sends(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	struct rosm_wc wc;
	uint32_t i;

	rcpair_connect(&p, mp, !rank, arg);
	for (i = 0; i < NSIZES; i++) {
		uint32_t len = sizes[i];

		if (rank) {
			memset(p.buf, 0xee, len + 64);
			rcpair_recv(&p, 100 + i, 8, len + 16);
			sync_with(mp, 0);
			CHECK(rcpair_poll(&p, &wc, 5000));
			CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, 100 + i);
			CHECK_EQ(wc.byte_len, len);
			CHECK_EQ(wc.opcode, ROSM_WC_RECV);
			pattern_check(p.buf + 8, len, i);
			CHECK_EQ(p.buf[8 + len], 0xee);
			CHECK_EQ(p.buf[7], 0xee);
		} else {
			pattern_fill(p.buf + 3, len, i);
			sync_with(mp, 1);
			rcpair_send(&p, i, 3, len, ROSM_SEND_SIGNALED);
			rcpair_expect(&p, i, ROSM_WC_SUCCESS);
		}
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void sends_of_all_sizes_arrive_whole(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, sends, NULL), 0);
}

static int stream(struct mp *mp, int rank, void *arg)
{
	enum { N = 20000 };
	struct rcpair p;
	uint32_t i, posted = 0;
	struct rosm_wc wc;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	for (i = 0; i < N; i++) {
		if (rank) {
			while (posted < N && posted < i + RC_DEPTH) {
				rcpair_recv(&p, posted,
					    posted % RC_DEPTH * 8192, 8192);
				posted++;
			}
			CHECK(rcpair_poll(&p, &wc, 10000));
			CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, i);
			CHECK_EQ(wc.byte_len, i * 37 % 8192);
			pattern_check(p.buf + i % RC_DEPTH * 8192, wc.byte_len,
				      i);
		} else {
			uint32_t len = i * 37 % 8192;

			pattern_fill(p.buf + i % 64 * 8192, len, i);
			rcpair_send(&p, i, i % 64 * 8192, len,
				    ROSM_SEND_SIGNALED);
			if (++posted > 32) {
				rcpair_expect(&p, i + 1 - posted,
					      ROSM_WC_SUCCESS);
				posted--;
			}
		}
	}
	for (; !rank && posted; posted--)
		rcpair_expect(&p, N - posted, ROSM_WC_SUCCESS);
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void a_long_stream_of_mixed_sizes_keeps_its_order(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, stream, NULL), 0);
}

/* Three pieces here, three other ones there. */
static int pieces(struct mp *mp, int rank, void *arg)
{
	static const uint32_t lens[] = { 3, 20, 90, 96, 97, 5000, 100000 };
	static const uint32_t gap = 64;
	struct rosm_sge sge[3];
	struct rosm_send_wr send = { .opcode = ROSM_WR_SEND,
				     .flags = ROSM_SEND_SIGNALED,
				     .sg_list = sge, .num_sge = 3 };
	struct rosm_recv_wr recv = { .sg_list = sge, .num_sge = 3 };
	struct rcpair p;
	uint32_t i, k, off, cut[4];

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint8_t *whole = p.buf + (1 << 20);

		cut[0] = 0;
		cut[1] = rank ? 1 : lens[i] / 3;
		cut[2] = lens[i] / 2 + 1;
		cut[3] = lens[i];
		for (k = 0; k < 3; k++) {
			off = cut[k] + k * gap;
			sge[k].addr = (uintptr_t)p.buf + off;
			sge[k].length = cut[k + 1] - cut[k];
			sge[k].lkey = rosm_mr_lkey(p.mr);
		}
		if (rank) {
			memset(p.buf, 0xee, lens[i] + 3 * gap);
			CHECK_EQ(rosm_qp_post_recv(p.qp, &recv), 0);
			sync_with(mp, 0);
			rcpair_expect(&p, 0, ROSM_WC_SUCCESS);
		} else {
			pattern_fill(whole, lens[i], i);
			sync_with(mp, 1);
		}
		for (k = 0; k < 3; k++) {
			uint8_t *here = p.buf + cut[k] + k * gap;

			if (rank)
				memcpy(whole + cut[k], here, sge[k].length);
			else
				memcpy(here, whole + cut[k], sge[k].length);
		}
		if (rank) {
			pattern_check(whole, lens[i], i);
			CHECK_EQ(p.buf[cut[1]], 0xee);
			CHECK_EQ(p.buf[cut[2] + gap], 0xee);
			CHECK_EQ(p.buf[cut[3] + 2 * gap], 0xee);
		} else {
			CHECK_EQ(rosm_qp_post_send(p.qp, &send), 0);
			rcpair_expect(&p, 0, ROSM_WC_SUCCESS);
		}
		sync_with(mp, !rank);
	}
	rcpair_close(&p);
	return 0;
}

static void sends_are_gathered_and_scattered(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, pieces, NULL), 0);
}

static int one_sided(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	struct rosm_wc wc;
	uint32_t i;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (!rank) {
		for (i = 0; i < NSIZES; i++) {
			pattern_fill(p.buf, sizes[i], i);
			rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, i, 0, sizes[i],
				    4096 + i, 0);
			rcpair_expect(&p, i, ROSM_WC_SUCCESS);
			memset(p.buf, 0, sizes[i]);
			rcpair_rdma(&p, ROSM_WR_RDMA_READ, i, 0, sizes[i],
				    4096 + i, 0);
			rcpair_expect(&p, i, ROSM_WC_SUCCESS);
			pattern_check(p.buf, sizes[i], i);
		}
		/* immediate data consumes a RECV of the other side */
		pattern_fill(p.buf, 5000, 77);
		rcpair_rdma(&p, ROSM_WR_RDMA_WRITE_WITH_IMM, 500, 0, 5000, 64,
			    0x12345678);
		rcpair_expect(&p, 500, ROSM_WC_SUCCESS);
	} else {
		rcpair_recv(&p, 9, 0, 16);
		CHECK(rcpair_poll(&p, &wc, 10000));
		CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
		CHECK_EQ(wc.opcode, ROSM_WC_RECV_RDMA_WITH_IMM);
		CHECK_EQ(wc.wc_flags, ROSM_WC_WITH_IMM);
		CHECK_EQ(wc.imm, 0x12345678);
		CHECK_EQ(wc.byte_len, 5000);
		CHECK_EQ(wc.wr_id, 9);
		pattern_check(p.buf + 64, 5000, 77);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void writes_and_reads_of_all_sizes_move_the_bytes(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, one_sided, NULL), 0);
}

#ifndef RC_BOUNCE
static int late_recv(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	struct rosm_wc wc;
	uint32_t i;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (!rank) {
		for (i = 0; i < 20; i++) {
			pattern_fill(p.buf + i * 8192, i * 400, i);
			rcpair_send(&p, i, i * 8192, i * 400,
				    ROSM_SEND_SIGNALED);
		}
		CHECK(!rcpair_poll(&p, &wc, 50));
		mp_send(mp, 1, &i, sizeof(i));
		/* outside all calls: the receiver must do it alone */
		mp_recv(mp, 1, &i, sizeof(i));
		for (i = 0; i < 20; i++)
			rcpair_expect(&p, i, ROSM_WC_SUCCESS);
	} else {
		mp_recv(mp, 0, &i, sizeof(i));
		for (i = 0; i < 20; i++)
			rcpair_recv(&p, i, i * 8192, 8192);
		for (i = 0; i < 20; i++) {
			CHECK(rcpair_poll(&p, &wc, 5000));
			CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, i);
			CHECK_EQ(wc.byte_len, i * 400);
			pattern_check(p.buf + i * 8192, i * 400, i);
		}
		mp_send(mp, 0, &i, sizeof(i));
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void a_receive_posted_late_fetches_what_waits_for_it(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, late_recv, NULL), 0);
}

static int stopped_target(struct mp *mp, int rank, void *arg)
{
	enum { N = 64 };
	struct rcpair p;
	struct rosm_wc wc;
	uint32_t i;
	char c = 0;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		pattern_fill(p.buf + (3 << 20), 70000, 5);
		for (i = 0; i < N; i++)
			rcpair_recv(&p, i, i * 8192, 8192);
		mp_send(mp, MP_PARENT, &c, 1);
		mp_recv(mp, 0, &c, 1);
		for (i = 0; i < N; i++) {
			CHECK(rcpair_poll(&p, &wc, 1000));
			CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, i);
			pattern_check(p.buf + i * 8192, i * 128, i);
		}
		pattern_check(p.buf + (2 << 20), 100000, 9);
	} else {
		mp_recv(mp, MP_PARENT, &c, 1);
		pattern_fill(p.buf, 100000, 9);
		rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, 1, 0, 100000, 2 << 20, 0);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		rcpair_rdma(&p, ROSM_WR_RDMA_READ, 2, 1 << 20, 70000, 3 << 20,
			    0);
		rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
		pattern_check(p.buf + (1 << 20), 70000, 5);
		for (i = 0; i < N; i++) {
			pattern_fill(p.buf, i * 128, i);
			rcpair_send(&p, i, 0, i * 128, ROSM_SEND_SIGNALED);
			rcpair_expect(&p, i, ROSM_WC_SUCCESS);
		}
		mp_send(mp, MP_PARENT, &c, 1);
		mp_send(mp, 1, &c, 1);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void a_stopped_target_delays_nobody(void **state)
{
	struct mp *mp;
	char c;

	(void)state;
	mp = mp_start(2, stopped_target, NULL);
	mp_recv(mp, 1, &c, 1);
	mp_stop(mp, 1);
	mp_send(mp, 0, &c, 1);
	mp_recv(mp, 0, &c, 1);
	mp_cont(mp, 1);
	assert_int_equal(mp_finish(mp), 0);
}

static int send_then_read(struct mp *mp, int rank, void *arg)
{
	struct rcpair p;
	char c = 0;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	if (rank) {
		rcpair_recv(&p, 1, 0, 64);
		rcpair_recv(&p, 2, 4096, 4096);
		rcpair_recv(&p, 6, 16384, 64);
		mp_send(mp, 0, &c, 1);
		mp_recv(mp, 0, &c, 1);
		/* the WRITE came after the Send: the poll must not undo it */
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
		CHECK_EQ(p.buf[10], 0x5a);
		pattern_check(p.buf + 4096, 2000, 4);
		rcpair_expect(&p, 6, ROSM_WC_SUCCESS);
		CHECK_EQ(p.buf[16394], 0x5a);
	} else {
		mp_recv(mp, 1, &c, 1);
		pattern_fill(p.buf, 64, 3);
		rcpair_send(&p, 1, 0, 64, ROSM_SEND_SIGNALED);
		pattern_fill(p.buf + 64, 2000, 4);
		rcpair_send(&p, 2, 64, 2000, ROSM_SEND_SIGNALED);
		rcpair_rdma(&p, ROSM_WR_RDMA_READ, 3, 8192, 64, 0, 0);
		rcpair_rdma(&p, ROSM_WR_RDMA_READ, 4, 12288, 2000, 4096, 0);
		p.buf[100000] = 0x5a;
		rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, 5, 100000, 1, 10, 0);
		rcpair_expect(&p, 1, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 2, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 3, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 4, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 5, ROSM_WC_SUCCESS);
		pattern_check(p.buf + 8192, 64, 3);
		pattern_check(p.buf + 12288, 2000, 4);
		/* no READ in between */
		rcpair_send(&p, 6, 0, 64, ROSM_SEND_SIGNALED);
		rcpair_rdma(&p, ROSM_WR_RDMA_WRITE, 7, 100000, 1, 16394, 0);
		rcpair_expect(&p, 6, ROSM_WC_SUCCESS);
		rcpair_expect(&p, 7, ROSM_WC_SUCCESS);
		mp_send(mp, 1, &c, 1);
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void one_sided_requests_see_the_sends_before_them(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, send_then_read, NULL), 0);
}

#endif

static int sleeper(struct mp *mp, int rank, void *arg)
{
	enum { N = 300 };
	struct rcpair p;
	struct rosm_wc wc;
	void *cookie;
	int i;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	for (i = 0; i < N; i++) {
		if (rank) {
			rcpair_recv(&p, (uint64_t)i, 0, 64);
			CHECK_EQ(rosm_cq_arm(p.cq, false), 0);
			if (i % 3 == 0)
				sync_with(mp, 0);
			while (!rosm_cq_poll(p.cq, 1, &wc)) {
				CHECK_EQ(rosm_channel_get_event(p.channel,
								&cookie), 0);
				CHECK(cookie == &p);
				CHECK_EQ(rosm_cq_arm(p.cq, false), 0);
			}
			CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
			CHECK_EQ(wc.wr_id, i);
		} else {
			if (i % 3 == 0)
				sync_with(mp, 1);
			if (i % 5 == 0)
				usleep(300);
			rcpair_send(&p, (uint64_t)i, 0, 8, ROSM_SEND_SIGNALED);
			rcpair_expect(&p, (uint64_t)i, ROSM_WC_SUCCESS);
		}
	}
	sync_with(mp, !rank);
	rcpair_close(&p);
	return 0;
}

static void no_wakeup_is_lost(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, sleeper, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_of_all_sizes_arrive_whole),
		cmocka_unit_test(sends_are_gathered_and_scattered),
		cmocka_unit_test(a_long_stream_of_mixed_sizes_keeps_its_order),
		cmocka_unit_test(writes_and_reads_of_all_sizes_move_the_bytes),
#ifndef RC_BOUNCE
		/* what the target's calls carry, it cannot get stopped */
		cmocka_unit_test(a_receive_posted_late_fetches_what_waits_for_it),
		cmocka_unit_test(a_stopped_target_delays_nobody),
		cmocka_unit_test(one_sided_requests_see_the_sends_before_them),
#endif
		cmocka_unit_test(no_wakeup_is_lost),
	};

#ifdef RC_BOUNCE
	setenv("ROSM_MOVE_CMA", "0", 1);
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
