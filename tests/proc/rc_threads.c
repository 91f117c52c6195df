/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC with threads, within one process and between two: several post on one QP
 * while several poll its CQ. Every message arrives once; nothing is lost or
 * torn. Meant to run under the thread sanitizer too.
 */
#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/assert.h"
#include "tests/lib/mp.h"
#include "tests/proc/rcpair.h"

enum { SENDERS = 3, POLLERS = 2, EACH = 3000, TOTAL = SENDERS * EACH,
       MSG_BYTES = 256 };

struct party {
	struct rcpair *tx;
	struct rcpair *rx;
	atomic_uint sent;		/* completions of sends */
	atomic_uint received;
	atomic_uint next;		/* number of the next message */
	atomic_uchar seen[TOTAL];
	atomic_bool busy[RC_DEPTH];	/* send buffer in use */
};

static void post_recv(struct party *s, uint32_t id)
{
	rcpair_recv(s->rx, 1u << 20 | id, id % RC_DEPTH * MSG_BYTES,
		    MSG_BYTES);
}

static void *sender(void *arg)
{
	struct party *s = arg;
	uint32_t n;

	while ((n = atomic_fetch_add(&s->next, 1)) < TOTAL) {
		uint32_t slot = n % RC_DEPTH;
		uint32_t off = (2 << 20) + slot * MSG_BYTES;
		struct rosm_sge sge = {
			(uint64_t)(uintptr_t)(s->tx->buf + off), MSG_BYTES,
			rosm_mr_lkey(s->tx->mr)
		};
		struct rosm_send_wr wr = {
			.wr_id = n,
			.opcode = ROSM_WR_SEND,
			.flags = ROSM_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
		};

		while (atomic_exchange(&s->busy[slot], true))
			sched_yield();
		memset(s->tx->buf + off, (int)(n & 0xff), MSG_BYTES);
		memcpy(s->tx->buf + off, &n, sizeof(n));
		while (rosm_qp_post_send(s->tx->qp, &wr))
			sched_yield();	/* full: the pollers make room */
	}
	return NULL;
}

static void take(struct party *s, const struct rosm_wc *wc)
{
	CHECK_EQ(wc->status, ROSM_WC_SUCCESS);
	if (wc->opcode == ROSM_WC_RECV) {
		uint32_t id = (uint32_t)wc->wr_id & 0xfffff, n;
		uint8_t *m = s->rx->buf + id % RC_DEPTH * MSG_BYTES;

		memcpy(&n, m, sizeof(n));
		CHECK_LT(n, TOTAL);
		CHECK_EQ(m[MSG_BYTES - 1], n & 0xff);
		CHECK_EQ(m[MSG_BYTES / 2], n & 0xff);
		CHECK_EQ(atomic_fetch_add(&s->seen[n], 1), 0);
		atomic_fetch_add(&s->received, 1);
		/* the buffer is this thread's until it posts it again */
		post_recv(s, id);
	} else {
		atomic_store(&s->busy[wc->wr_id % RC_DEPTH], false);
		atomic_fetch_add(&s->sent, 1);
	}
}

static void *poller(void *arg)
{
	struct party *s = arg;
	struct rosm_wc wc[8];
	int i, n;

	while (atomic_load(&s->received) < TOTAL ||
	       atomic_load(&s->sent) < TOTAL) {
		n = rosm_cq_poll(s->rx->cq, 8, wc);
		CHECK(n >= 0);
		for (i = 0; i < n; i++)
			take(s, &wc[i]);
		if (s->tx->cq != s->rx->cq) {
			n = rosm_cq_poll(s->tx->cq, 8, wc);
			CHECK(n >= 0);
			for (i = 0; i < n; i++)
				take(s, &wc[i]);
		}
		if (!n)
			sched_yield();
	}
	return NULL;
}

static int in_one_process(struct mp *mp, int rank, void *arg)
{
	static struct party s;
	struct rcpair a, b;
	pthread_t t[SENDERS + POLLERS];
	uint32_t i;

	(void)mp;
	(void)rank;
	(void)arg;
	rcpair_open(&a, NULL);
	rcpair_open(&b, NULL);
	rcpair_to_rts(&a, rosm_qp_num(b.qp), NULL);
	rcpair_to_rts(&b, rosm_qp_num(a.qp), NULL);
	s.tx = &a;
	s.rx = &b;
	for (i = 0; i < RC_DEPTH; i++)
		post_recv(&s, i);
	for (i = 0; i < SENDERS + POLLERS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL,
					i < SENDERS ? sender : poller, &s), 0);
	for (i = 0; i < SENDERS + POLLERS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < TOTAL; i++)
		CHECK_EQ(atomic_load(&s.seen[i]), 1);
	rcpair_close(&a);
	rcpair_close(&b);
	return 0;
}

static void threads_of_one_process_share_a_queue_pair(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, in_one_process, NULL), 0);
}

static void *churn(void *arg)
{
	atomic_bool *stop = arg;
	struct rcpair a, b;

	/* objects come and go beside the traffic */
	while (!atomic_load(stop)) {
		rcpair_open(&a, NULL);
		rcpair_open(&b, NULL);
		rcpair_to_rts(&a, rosm_qp_num(b.qp), NULL);
		rcpair_to_rts(&b, rosm_qp_num(a.qp), NULL);
		rcpair_recv(&b, 1, 0, 64);
		rcpair_send(&a, 2, 0, 64, ROSM_SEND_SIGNALED);
		rcpair_send(&a, 3, 0, 64, ROSM_SEND_SIGNALED);	/* waits */
		rcpair_expect(&b, 1, ROSM_WC_SUCCESS);
		rcpair_close(&a);
		rcpair_close(&b);
	}
	return NULL;
}

static int beside_churn(struct mp *mp, int rank, void *arg)
{
	atomic_bool stop = false;
	struct rcpair p;
	struct rosm_wc wc;
	pthread_t t;
	int i;

	(void)arg;
	rcpair_connect(&p, mp, !rank, NULL);
	CHECK_EQ(pthread_create(&t, NULL, churn, &stop), 0);
	for (i = 0; i < 300; i++) {
		rcpair_recv(&p, 10, 0, 64);
		rcpair_send(&p, 20, 64, 64, ROSM_SEND_SIGNALED);
		CHECK(rcpair_poll(&p, &wc, 10000));
		CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
		CHECK(rcpair_poll(&p, &wc, 10000));
		CHECK_EQ(wc.status, ROSM_WC_SUCCESS);
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	mp_send(mp, !rank, &i, sizeof(i));
	mp_recv(mp, !rank, &i, sizeof(i));
	rcpair_close(&p);
	return 0;
}

static void queue_pairs_come_and_go_beside_traffic(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, beside_churn, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_one_process_share_a_queue_pair),
		cmocka_unit_test(queue_pairs_come_and_go_beside_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
