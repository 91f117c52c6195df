/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC: one process dies at each named kill point, at the first, the second and
 * a later passage; then at random moments. The other gets its errors, can
 * destroy everything, and a new pair works in the same directory.
 */
#include <config.h>

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/assert.h"
#include "tests/lib/mp.h"
#include "tests/proc/rcpair.h"
#include "util/fault.h"

enum { ROUNDS = 40, MAX_POINTS = 128 };

struct plan {
	char fault[96];		/* ROSM_FAULT of the victim, "" none */
};

/*
 * Traffic of every kind in both directions until the other is gone or all
 * rounds are over. Completions may be successes or what a death leaves.
 */
static int traffic(struct rcpair *p, int rounds)
{
	int i, errors = 0;
	struct rosm_wc wc;

	for (i = 0; i < rounds && !errors; i++) {
		struct rosm_sge sge = { (uint64_t)(uintptr_t)p->buf,
					(uint32_t)(i % 5 * 1500),
					rosm_mr_lkey(p->mr) };
		struct rosm_send_wr wr = {
			.wr_id = (uint64_t)i,
			.opcode = (enum rosm_wr_opcode)(i % ROSM_WR_OPCODES),
			.flags = ROSM_SEND_SIGNALED,
			.sg_list = &sge,
			.num_sge = 1,
			.remote_addr = p->other.addr + (1 << 20),
			.rkey = p->other.rkey,
		};
		struct rosm_recv_wr rr = { 1000 + (uint64_t)i, &sge, 1 };

		sge.length = 8192;
		CHECK_EQ(rosm_qp_post_recv(p->qp, &rr), 0);
		sge.length = (uint32_t)(i % 5 * 1500);
		CHECK_EQ(rosm_qp_post_send(p->qp, &wr), 0);
		while (rcpair_poll(p, &wc, 0)) {
			if (wc.status != ROSM_WC_SUCCESS) {
				CHECK(wc.status == ROSM_WC_RETRY_EXC_ERR ||
				      wc.status == ROSM_WC_WR_FLUSH_ERR ||
				      wc.status == ROSM_WC_REM_OP_ERR);
				errors++;
			}
		}
	}
	return errors;
}

/*
 * What the two exchange lies in memory that both have from before the fork: a
 * pipe would turn the other's death into an error of its own.
 */
struct desk {
	atomic_int step[2];		/* 1: end is valid, 2: at RTS */
	struct {
		uint32_t qpn;
		uint32_t rkey;
		uint64_t addr;
	} end[2];
};

static struct desk *desk;

/* False: the other does not come any more. */
static bool wait_for(int rank, int step)
{
	uint64_t end = mp_now_ns() + 500000000u;

	while (atomic_load(&desk->step[!rank]) < step) {
		if (mp_now_ns() > end)
			return false;
		sched_yield();
	}
	return true;
}

static bool meet(struct rcpair *p, int rank)
{
	rcpair_open(p, NULL);
	desk->end[rank].qpn = rosm_qp_num(p->qp);
	desk->end[rank].rkey = rosm_mr_rkey(p->mr);
	desk->end[rank].addr = (uint64_t)(uintptr_t)p->buf;
	atomic_store(&desk->step[rank], 1);
	if (!wait_for(rank, 1))
		return false;
	p->other.qpn = desk->end[!rank].qpn;
	p->other.rkey = desk->end[!rank].rkey;
	p->other.addr = desk->end[!rank].addr;
	rcpair_to_rts(p, p->other.qpn, NULL);
	atomic_store(&desk->step[rank], 2);
	return wait_for(rank, 2);
}

static int worker(struct mp *mp, int rank, void *arg)
{
	struct plan *plan = arg;
	struct rcpair p;
	struct rosm_wc wc;
	uint64_t start;

	(void)mp;
	if (rank == 1) {
		setenv("ROSM_FAULT", plan->fault, 1);
		ru_fault_reload();
		if (meet(&p, rank))
			traffic(&p, ROUNDS);
		raise(SIGKILL);	/* wherever it got to */
	}
	if (!meet(&p, rank))
		goto close;
	traffic(&p, ROUNDS);
	start = mp_now_ns();
	/* flushed to the last WQE: the error state is reached within 2 s */
	while (rosm_qp_state(p.qp) != ROSM_QPS_ERR) {
		rcpair_poll(&p, &wc, 1);
		CHECK_LT(mp_now_ns() - start, 4000000000ll);
	}
	rcpair_send(&p, 5000, 0, 8, ROSM_SEND_SIGNALED);
	do
		CHECK(rcpair_poll(&p, &wc, 2000));
	while (wc.wr_id != 5000);
	CHECK(wc.status == ROSM_WC_WR_FLUSH_ERR ||
	      wc.status == ROSM_WC_RETRY_EXC_ERR);
close:
	rcpair_close(&p);
	return 0;
}

static void run_plan(struct plan *plan, unsigned int kill_after_us)
{
	struct mp *mp;
	int status;

	memset(desk, 0, sizeof(*desk));
	mp = mp_start(2, worker, plan);

	if (kill_after_us) {
		usleep(kill_after_us);
		mp_kill(mp, 1);
	}
	status = mp_wait(mp, 1);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("%s: victim ended with 0x%x", plan->fault, status);
	if (mp_finish(mp))
		fail_msg("%s: survivor failed", plan->fault);
}

static const char *points[MAX_POINTS];
static int n_points;

static int collect(void *ctx, const struct ru_fault_point *pt)
{
	(void)ctx;
	if (pt->kind == RU_FAULT_KILL && n_points < MAX_POINTS)
		points[n_points++] = pt->name;
	return 0;
}

static void a_death_at_any_kill_point_leaves_the_other_whole(void **state)
{
	static const int nth[] = { 1, 2, 7 };
	struct plan plan = { .fault = "" };
	size_t k;
	int i;

	(void)state;
	ru_fault_each(collect, NULL);
	assert_true(n_points > 5);
	for (i = 0; i < n_points; i++)
		for (k = 0; k < sizeof(nth) / sizeof(nth[0]); k++) {
			snprintf(plan.fault, sizeof(plan.fault),
				 "kill:%s:%d", points[i], nth[k]);
			run_plan(&plan, 0);
		}
}

static void a_death_at_any_moment_leaves_the_other_whole(void **state)
{
	struct plan plan = { .fault = "" };
	uint64_t end = mp_now_ns() + mp_soak_s() * 1000000000ull;
	unsigned int seed = 12345;
	int i;

	(void)state;
	for (i = 0; i < 60 || mp_now_ns() < end; i++)
		run_plan(&plan, 1 + (unsigned int)rand_r(&seed) % 12000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_death_at_any_kill_point_leaves_the_other_whole),
		cmocka_unit_test(a_death_at_any_moment_leaves_the_other_whole),
	};

	desk = mmap(NULL, sizeof(*desk), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (desk == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
