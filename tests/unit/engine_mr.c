/* SPDX-License-Identifier: BSD-2-Clause */
/* Registration: arguments, keys, the check of every access, the drain. */
#include <config.h>

#include "engine/mr.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "engine/hazard.h"
#include "engine/pd.h"
#include "tests/proc/base.h"

#define ALL	(ROSM_ACCESS_LOCAL_WRITE | ROSM_ACCESS_REMOTE_WRITE | \
		 ROSM_ACCESS_REMOTE_READ | ROSM_ACCESS_REMOTE_ATOMIC)

static struct rosm_ctx ctx;
static struct rosm_pd *pd;
static char buf[8192];

static void set_up(void)
{
	ctx.inst = base_open();
	CHECK_OK(rosm_pd_alloc(&ctx, &pd));
	CHECK_NE(pd->number, 0);
}

static int arguments(struct mp *mp, int rank, void *arg)
{
	struct rosm_mr *mr = NULL;
	char *map;

	(void)mp, (void)rank, (void)arg;
	set_up();
	CHECK_EQ(rosm_mr_reg(pd, buf, 1, 0, 1u << 10, &mr), -EINVAL);
	CHECK_EQ(rosm_mr_reg(pd, buf, 1, 0, ROSM_ACCESS_REMOTE_WRITE, &mr),
		 -EINVAL);
	CHECK_EQ(rosm_mr_reg(pd, buf, 1, 0, ROSM_ACCESS_REMOTE_ATOMIC, &mr),
		 -EINVAL);
	CHECK_EQ(rosm_mr_reg(pd, buf, UINT64_MAX, 0, ALL, &mr), -EINVAL);
	CHECK_EQ(rosm_mr_reg(pd, NULL, 4096, 0, ALL, &mr), -EFAULT);
	map = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	CHECK_OK(munmap(map + 4096, 4096));
	CHECK_EQ(rosm_mr_reg(pd, map, 3 * 4096, 0, ALL, &mr), -EFAULT);
	CHECK_EQ(rosm_mr_reg(pd, map + 4095, 2, 0, ALL, &mr), -EFAULT);
	CHECK(mr == NULL);
	CHECK_OK(rosm_mr_reg(pd, map, 4096, 0, ALL, &mr));
	CHECK_EQ(rosm_pd_free(pd), -EBUSY);
	CHECK_OK(rosm_mr_dereg(mr));
	CHECK_OK(rosm_pd_free(pd));
	CHECK_EQ(ctx.children, 0);
	rosm_inst_put(ctx.inst);
	return 0;
}

/* what one check answers */
static int check(uint32_t key, uint64_t addr, uint64_t len, uint32_t number,
		 uint32_t access)
{
	uint64_t va = 0;
	int rc = rosm_mr_check(ctx.inst->self, key, addr, len, number, access,
			       &va);

	if (!rc)
		CHECK_EQ(va, (uintptr_t)buf + (addr - 0x1000));
	return rc;
}

static int checks(struct mp *mp, int rank, void *arg)
{
	const uint32_t n = 100, rd = ROSM_ACCESS_REMOTE_READ;
	struct rosm_mr *mr;
	uint32_t key;
	uint64_t epoch;

	(void)mp, (void)rank, (void)arg;
	set_up();
	CHECK_OK(rosm_mr_reg(pd, buf, n, 0x1000, rd, &mr));
	key = rosm_mr_rkey(mr);
	CHECK_NE(key, 0);
	CHECK_EQ(check(key, 0x1000, n, pd->number, rd), 0);
	CHECK_EQ(check(key, 0x1000 + n - 1, 1, pd->number, rd), 0);
	CHECK_EQ(check(key, 0x1000 + n, 0, pd->number, rd), 0);
	CHECK_EQ(check(key, 0x1000 + n, 1, pd->number, rd), -ERANGE);
	CHECK_EQ(check(key, 0xfff, 1, pd->number, rd), -ERANGE);
	CHECK_EQ(check(key, 0x1000, n + 1, pd->number, rd), -ERANGE);
	CHECK_EQ(check(key, 0x1001, UINT64_MAX, pd->number, rd), -ERANGE);
	CHECK_EQ(check(key, 0x1000, 1, pd->number, ALL), -EACCES);
	CHECK_EQ(check(key, 0x1000, 1, pd->number + 1, rd), -EPERM);
	CHECK_EQ(check(key + 1, 0x1000, 1, pd->number, rd), -EINVAL);
	CHECK_EQ(check(key + 256, 0x1000, 1, pd->number, rd), -EINVAL);
	CHECK_EQ(check(UINT32_MAX, 0x1000, 1, pd->number, rd), -EINVAL);
	CHECK_EQ(check(0, 0x1000, 1, pd->number, rd), -EINVAL);
	epoch = ctx.inst->roh->mr_epoch;
	CHECK_OK(rosm_mr_dereg(mr));
	CHECK_EQ(ctx.inst->roh->mr_epoch, epoch + 1);
	CHECK_EQ(check(key, 0x1000, 1, pd->number, rd), -EINVAL);
	rosm_inst_put(ctx.inst);
	return 0;
}

/* A key comes again after at least 64 * 255 others, never at once. */
static int reuse(struct mp *mp, int rank, void *arg)
{
	static uint8_t seen[1 << 16];
	struct rosm_mr *mr;
	uint32_t key;
	int i;

	(void)mp, (void)rank, (void)arg;
	set_up();
	for (i = 0; i < 16000; i++) {
		CHECK_OK(rosm_mr_reg(pd, buf, 1, 0, 0, &mr));
		key = rosm_mr_lkey(mr);
		CHECK_NE(key, 0);
		CHECK_LT(key, sizeof(seen));	/* low: few pages */
		CHECK(!seen[key]);
		seen[key] = 1;
		CHECK_OK(rosm_mr_dereg(mr));
	}
	rosm_inst_put(ctx.inst);
	return 0;
}

static int all_of_them(struct mp *mp, int rank, void *arg)
{
	static struct rosm_mr *mr[ROSM_WIRE_MRS];
	uint32_t n;

	(void)mp, (void)rank, (void)arg;
	set_up();
	for (n = 0; n < ROSM_WIRE_MRS - 1; n++)
		CHECK_OK(rosm_mr_reg(pd, buf, 1, 0, 0, &mr[n]));
	CHECK_EQ(rosm_mr_reg(pd, buf, 1, 0, 0, &mr[n]), -ENOMEM);
	CHECK_OK(rosm_mr_dereg(mr[4711]));
	CHECK_OK(rosm_mr_reg(pd, buf, 1, 0, 0, &mr[4711]));
	while (n--)
		CHECK_OK(rosm_mr_dereg(mr[n]));
	rosm_inst_put(ctx.inst);
	return 0;
}

/* ---- drains ----------------------------------------------------------- */

struct use {
	uint32_t key;
	atomic_int phase;	/* 1 named, 2 may end, 3 ended */
};

static void *user(void *arg)
{
	struct use *u = arg;
	struct rosm_wire_hazard *h = rosm_hazard_line(ctx.inst);

	rosm_hazard_mr(h, ctx.inst->who, u->key);
	u->phase = 1;
	while (u->phase != 2)
		base_nap_ms(1);
	base_nap_ms(20);
	u->phase = 3;
	rosm_hazard_clear(ctx.inst, h);
	return NULL;
}

static void drain_waits(uint32_t named, struct rosm_mr *mr)
{
	struct use u = { .key = named };
	pthread_t t;

	CHECK_OK(pthread_create(&t, NULL, user, &u));
	while (u.phase != 1)
		base_nap_ms(1);
	u.phase = 2;
	CHECK_OK(rosm_mr_dereg(mr));
	CHECK_EQ(u.phase, 3);
	CHECK_OK(pthread_join(t, NULL));
}

static int drains(struct mp *mp, int rank, void *arg)
{
	struct use u = { 0 };
	struct rosm_mr *mr, *other;
	pthread_t t;

	(void)mp, (void)rank, (void)arg;
	set_up();
	CHECK_OK(rosm_mr_reg(pd, buf, 1, 0, 0, &mr));
	drain_waits(rosm_mr_lkey(mr), mr);
	CHECK_OK(rosm_mr_reg(pd, buf, 1, 0, 0, &mr));
	drain_waits(ROSM_HAZARD_ALL, mr);

	/* another region's use is not waited for */
	CHECK_OK(rosm_mr_reg(pd, buf, 1, 0, 0, &mr));
	CHECK_OK(rosm_mr_reg(pd, buf, 1, 0, 0, &other));
	u.key = rosm_mr_lkey(other);
	CHECK_OK(pthread_create(&t, NULL, user, &u));
	while (u.phase != 1)
		base_nap_ms(1);
	CHECK_OK(rosm_mr_dereg(mr));
	CHECK_EQ(u.phase, 1);
	u.phase = 2;
	CHECK_OK(pthread_join(t, NULL));
	CHECK_OK(rosm_mr_dereg(other));
	/* threads that ended gave their lines back */
	CHECK_EQ(ctx.inst->hazards_used, 1ull << (ROSM_WIRE_HAZARDS - 1));
	rosm_inst_put(ctx.inst);
	return 0;
}

static atomic_int inside, most;

static void *crowd(void *arg)
{
	struct rosm_wire_hazard *h = rosm_hazard_line(ctx.inst);
	int n = ++inside;

	(void)arg;
	CHECK(h != NULL);
	if (n > most)
		most = n;
	rosm_hazard_mr(h, ctx.inst->who, 5);
	base_nap_ms(2);
	CHECK_EQ(h->mr, 1ull << 32 | 5);
	inside--;
	rosm_hazard_clear(ctx.inst, h);
	base_nap_ms(50);
	return NULL;
}

static int many_threads(struct mp *mp, int rank, void *arg)
{
	pthread_t t[ROSM_WIRE_HAZARDS + 6];
	unsigned int i;

	(void)mp, (void)rank, (void)arg;
	set_up();
	for (i = 0; i < ROSM_WIRE_HAZARDS + 6; i++)
		CHECK_OK(pthread_create(&t[i], NULL, crowd, NULL));
	for (i = 0; i < ROSM_WIRE_HAZARDS + 6; i++)
		CHECK_OK(pthread_join(t[i], NULL));
	CHECK_GT(most, 0);
	rosm_inst_put(ctx.inst);
	return 0;
}

#define IN_WORKERS(name, n, fn)						\
	static void name(void **state)					\
	{								\
		(void)state;						\
		assert_int_equal(mp_run(n, fn, NULL), 0);		\
	}

IN_WORKERS(bad_arguments_change_nothing, 1, arguments)
IN_WORKERS(each_access_is_checked, 1, checks)
IN_WORKERS(a_key_is_not_used_again_soon, 1, reuse)
IN_WORKERS(the_table_can_be_used_up, 1, all_of_them)
IN_WORKERS(dereg_waits_for_the_use_under_way, 1, drains)
IN_WORKERS(threads_beyond_the_lines_share_one, 1, many_threads)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_arguments_change_nothing),
		cmocka_unit_test(each_access_is_checked),
		cmocka_unit_test(a_key_is_not_used_again_soon),
		cmocka_unit_test(the_table_can_be_used_up),
		cmocka_unit_test(dereg_waits_for_the_use_under_way),
		cmocka_unit_test(threads_beyond_the_lines_share_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
