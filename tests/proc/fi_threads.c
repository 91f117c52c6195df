/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FI_THREAD_SAFE over libfabric: threads that share an endpoint, its queue
 * and its address vector, and endpoints of one domain used side by side.
 */
#include <config.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/proc/fi_end.h"

enum { THREADS = 3, MESSAGES = 600, BIG = 20000 };

static const struct fi_end_opts plain = { .caps = FI_TAGGED };

/* One operation; any thread may read its completion. */
struct op {
	atomic_int done;
	size_t len;
};

static void take_any(struct fi_end *e)
{
	struct fi_cq_tagged_entry c;
	ssize_t ret = fi_cq_read(e->cq, &c, 1);
	struct op *op;

	if (ret == -FI_EAGAIN) {
		sched_yield();
		return;
	}
	CHECK_EQ(ret, 1);
	op = c.op_context;
	op->len = c.len;
	CHECK_EQ(atomic_exchange(&op->done, 1), 0);
}

static void wait_op(struct fi_end *e, struct op *op)
{
	while (!atomic_load(&op->done))
		take_any(e);
}

struct task {
	struct fi_end *e;
	uint32_t id;
};

/* Sends to the other rank's thread of the same number and receives from it. */
static void *pair_thread(void *arg)
{
	struct task *t = arg;
	struct fi_end *e = t->e;
	uint8_t *in = malloc(BIG), *out = malloc(BIG);
	uint32_t i;

	CHECK(in && out);
	for (i = 0; i < MESSAGES; i++) {
		size_t len = i % 20 == 19 ? BIG : 1 + i % 200;
		struct op rx = { 0 }, tx = { 0 };
		ssize_t ret;

		fi_end_fill(out, len, t->id * 1000 + i);
		CHECK_OK(fi_trecv(e->ep, in, BIG, NULL, FI_ADDR_UNSPEC, t->id,
				  0, &rx));
		while ((ret = fi_tsend(e->ep, out, len, NULL,
				       e->addr[1 - e->rank], t->id, &tx)) ==
		       -FI_EAGAIN)
			take_any(e);
		CHECK_EQ(ret, 0);
		wait_op(e, &rx);
		CHECK_EQ(rx.len, len);
		fi_end_check(in, len, t->id * 1000 + i);
		wait_op(e, &tx);
	}
	free(in);
	free(out);
	return NULL;
}

static void run_threads(struct task *tasks)
{
	pthread_t threads[THREADS];
	uint32_t i;

	for (i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&threads[i], NULL, pair_thread,
					&tasks[i]));
	for (i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(threads[i], NULL));
}

static int shared_worker(struct mp *mp, int rank, void *arg)
{
	struct task tasks[THREADS];
	struct fi_end e;
	uint32_t i;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	for (i = 0; i < THREADS; i++)
		tasks[i] = (struct task){ &e, i };
	run_threads(tasks);
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void threads_share_one_endpoint(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, shared_worker, NULL), 0);
}

static int own_worker(struct mp *mp, int rank, void *arg)
{
	struct task tasks[THREADS];
	struct fi_end e[THREADS];
	uint32_t i;

	(void)arg;
	for (i = 0; i < THREADS; i++) {
		fi_end_open(&e[i], mp, rank, &plain);
		tasks[i] = (struct task){ &e[i], i };
	}
	run_threads(tasks);
	mp_barrier(mp);
	for (i = 0; i < THREADS; i++)
		fi_end_close(&e[i]);
	return 0;
}

static void threads_have_endpoints_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, own_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_share_one_endpoint),
		cmocka_unit_test(threads_have_endpoints_of_their_own),
	};

	fi_end_load();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
