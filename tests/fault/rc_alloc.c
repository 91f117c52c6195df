/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every allocation that can fail on the way to a working queue pair, failing
 * once, at its first to third passage: the call answers an error, changes
 * nothing, and the same calls succeed afterwards.
 */
#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/rosm.h"
#include "tests/lib/assert.h"
#include "tests/lib/mp.h"
#include "util/fault.h"

enum { MAX_POINTS = 128 };

static const char *points[MAX_POINTS];
static int n_points;

static int collect(void *ctx, const struct ru_fault_point *pt)
{
	(void)ctx;
	if (pt->kind == RU_FAULT_FAIL && n_points < MAX_POINTS)
		points[n_points++] = pt->name;
	return 0;
}

/* 0, or the first error; everything that was made is unmade. */
static int build_and_unbuild(void)
{
	static char buf[4096];
	struct rosm_qp_init init = { .type = ROSM_QPT_RC,
				     .cap = { 16, 16, 2, 2, 64 } };
	struct rosm_rd_init rd_init = { .slots = 64, .eager_bytes = 4096 };
	struct rosm_channel *ch = NULL;
	struct rosm_ctx *ctx = NULL;
	struct rosm_pd *pd = NULL;
	struct rosm_mr *mr = NULL;
	struct rosm_cq *cq = NULL;
	struct rosm_qp *qp = NULL;
	struct rosm_rd *rd = NULL;
	uint32_t cqe;
	int rc;

	rc = rosm_ctx_open(&ctx);
	if (!rc)
		rc = rosm_pd_alloc(ctx, &pd);
	if (!rc)
		rc = rosm_mr_reg(pd, buf, sizeof(buf), (uintptr_t)buf,
				 ROSM_ACCESS_LOCAL_WRITE, &mr);
	if (!rc)
		rc = rosm_channel_create(ctx, &ch);
	if (!rc)
		rc = rosm_cq_create(ctx, 100, ch, NULL, &cqe, &cq);
	if (!rc)
		rc = rosm_cq_resize(cq, 300, &cqe);
	init.send_cq = init.recv_cq = cq;
	if (!rc)
		rc = rosm_qp_create(pd, &init, &qp);
	rd_init.channel = ch;
	if (!rc)
		rc = rosm_rd_create(pd, &rd_init, &rd);
	if (rd)
		CHECK_EQ(rosm_rd_destroy(rd), 0);
	if (qp)
		CHECK_EQ(rosm_qp_destroy(qp), 0);
	if (cq)
		CHECK_EQ(rosm_cq_destroy(cq), 0);
	if (ch)
		CHECK_EQ(rosm_channel_destroy(ch), 0);
	if (mr)
		CHECK_EQ(rosm_mr_dereg(mr), 0);
	if (pd)
		CHECK_EQ(rosm_pd_free(pd), 0);
	if (ctx)
		CHECK_EQ(rosm_ctx_close(ctx), 0);
	return rc;
}

static int worker(struct mp *mp, int rank, void *arg)
{
	const char *fault = arg;
	int rc;

	(void)mp;
	(void)rank;
	setenv("ROSM_FAULT", fault, 1);
	ru_fault_reload();
	rc = build_and_unbuild();
	if (rc)
		CHECK(rc == -ENOMEM || rc == -ENOSPC || rc == -EMFILE ||
		      rc == -EFAULT || rc == -EAGAIN || rc == -EIO);
	unsetenv("ROSM_FAULT");
	ru_fault_reload();
	CHECK_EQ(build_and_unbuild(), 0);
	return 0;
}

static void each_failing_allocation_is_an_error_and_no_more(void **state)
{
	char fault[96];
	int i, nth;

	(void)state;
	ru_fault_each(collect, NULL);
	assert_true(n_points > 8);
	for (i = 0; i < n_points; i++)
		for (nth = 1; nth <= 3; nth++) {
			snprintf(fault, sizeof(fault), "fail:%s:%d", points[i],
				 nth);
			if (mp_run(1, worker, fault))
				fail_msg("%s", fault);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_failing_allocation_is_an_error_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
