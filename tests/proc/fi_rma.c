/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes over libfabric between processes: bytes, remote CQ data,
 * inject, offsets or virtual addresses, and what a wrong key, range, right or
 * a closed region answers.
 */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/proc/fi_end.h"

enum { REGION = 1 << 20 };

static const struct fi_end_opts plain = { .caps = FI_RMA | FI_MSG };

/* What the target tells. */
struct target {
	uint64_t addr;
	uint64_t key;
	uint64_t read_key;		/* of the same bytes, for reads only */
};

static uint8_t region[REGION];

static struct fid_mr *reg(struct fi_end *e, uint64_t access)
{
	struct fid_mr *mr;

	CHECK_OK(fi_mr_reg(e->domain, region, REGION, access, 0, 0x1234, 0,
			   &mr, NULL));
	return mr;
}

static void wait_rma(struct fi_end *e, void *context, uint64_t flag)
{
	struct fi_cq_tagged_entry c = fi_end_wait(e);

	CHECK(c.op_context == context);
	CHECK_EQ(c.flags, FI_RMA | flag);
}

/* ---- bytes ------------------------------------------------------------ */

static void move(struct fi_end *e, const struct target *t)
{
	static const size_t lens[] = { 1, 8, 4096, 8192, 70000, REGION };
	static uint8_t buf[REGION];
	size_t i;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t off = REGION - lens[i];

		fi_end_fill(buf, lens[i], (uint32_t)i);
		CHECK_OK(FI_END_AGAIN(e, fi_write(e->ep, buf, lens[i], NULL,
				e->addr[1], t->addr + off, t->key, buf)));
		wait_rma(e, buf, FI_WRITE);
		memset(buf, 0, lens[i]);
		CHECK_OK(FI_END_AGAIN(e, fi_read(e->ep, buf, lens[i], NULL,
				e->addr[1], t->addr + off, t->read_key, buf)));
		wait_rma(e, buf, FI_READ);
		fi_end_check(buf, lens[i], (uint32_t)i);
	}
	/* inject: reusable at once, no completion */
	fi_end_fill(buf, 8192, 77);
	CHECK_OK(FI_END_AGAIN(e, fi_inject_write(e->ep, buf, 8192, e->addr[1],
						 t->addr, t->key)));
	memset(buf, 0, 8192);
	CHECK_OK(FI_END_AGAIN(e, fi_read(e->ep, buf, 8192, NULL, e->addr[1],
					 t->addr, t->read_key, buf)));
	wait_rma(e, buf, FI_READ);
	fi_end_check(buf, 8192, 77);
}

/* The target makes no call meanwhile, where the kernel allows that. */
static int move_worker(struct mp *mp, int rank, void *arg)
{
	struct fid_mr *mr, *mr_read;
	struct target t;
	struct fi_end e;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	if (rank == 1) {
		mr = reg(&e, FI_REMOTE_READ | FI_REMOTE_WRITE);
		mr_read = reg(&e, FI_REMOTE_READ);
		t.addr = (uintptr_t)region;
		t.key = fi_mr_key(mr);
		t.read_key = fi_mr_key(mr_read);
		mp_send(mp, 0, &t, sizeof(t));
		if (!fi_end_passive(&e, 0))
			fi_end_serve(&e, 0);
		mp_barrier(mp);
		fi_end_check(region, 8192, 77);
		CHECK_OK(fi_close(&mr->fid));
		CHECK_OK(fi_close(&mr_read->fid));
	} else {
		mp_recv(mp, 1, &t, sizeof(t));
		move(&e, &t);
		if (!fi_end_passive(&e, 1))
			fi_end_served(&e, 1);
		mp_barrier(mp);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void writes_and_reads_need_nothing_from_the_target(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, move_worker, NULL), 0);
}

/* ---- remote CQ data --------------------------------------------------- */

static int data_worker(struct mp *mp, int rank, void *arg)
{
	static uint8_t buf[REGION];
	static bool seen[3001];
	struct fi_cq_tagged_entry c;
	struct fid_mr *mr;
	struct target t;
	struct fi_end e;
	uint64_t i, n;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	if (rank == 1) {
		mr = reg(&e, FI_REMOTE_WRITE);
		t = (struct target){ (uintptr_t)region, fi_mr_key(mr), 0 };
		mp_send(mp, 0, &t, sizeof(t));
		for (i = 1; i <= 3000; i++) {
			c = fi_end_wait(&e);
			CHECK_EQ(c.flags, FI_RMA | FI_REMOTE_WRITE |
					  FI_REMOTE_CQ_DATA);
			n = ~c.data;
			CHECK(n >= 1 && n <= 3000 && !seen[n]);
			seen[n] = true;
#ifndef FI_END_NO_CMA
			/* what the target's calls carry out may overtake */
			CHECK_EQ(n, i);
#endif
			if (n == 3000)
				CHECK_EQ(c.len, REGION);
		}
		fi_end_check(region, REGION, 4);
		fi_end_served(&e, 0);
		mp_barrier(mp);
		CHECK_OK(fi_close(&mr->fid));
	} else {
		mp_recv(mp, 1, &t, sizeof(t));
		fi_end_fill(buf, REGION, 4);
		for (i = 1; i < 3000; i++) {
			if (i & 1) {
				CHECK_OK(FI_END_AGAIN(&e, fi_writedata(e.ep,
					buf, 1, NULL, ~i, e.addr[1], t.addr,
					t.key, buf)));
				wait_rma(&e, buf, FI_WRITE);
			} else {
				CHECK_OK(FI_END_AGAIN(&e,
					fi_inject_writedata(e.ep, buf, 2, ~i,
						e.addr[1], t.addr, t.key)));
			}
		}
		CHECK_OK(FI_END_AGAIN(&e, fi_writedata(e.ep, buf, REGION, NULL,
				~i, e.addr[1], t.addr, t.key, buf)));
		wait_rma(&e, buf, FI_WRITE);
		/* what was injected may not be over yet */
		fi_end_serve(&e, 1);
		mp_barrier(mp);
	}
	fi_end_close(&e);
	return 0;
}

static void written_data_arrives_once_and_after_the_bytes(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, data_worker, NULL), 0);
}

/* ---- refusals --------------------------------------------------------- */

static void refused(struct fi_end *e, bool write, uint64_t addr, uint64_t key,
		    int want)
{
	static uint8_t buf[64];
	struct fi_cq_err_entry err;

	if (write)
		CHECK_OK(fi_write(e->ep, buf, 64, NULL, e->addr[1], addr, key,
				  buf));
	else
		CHECK_OK(fi_read(e->ep, buf, 64, NULL, e->addr[1], addr, key,
				 buf));
	err = fi_end_wait_err(e, want);
	CHECK(err.op_context == buf);
	CHECK_EQ(err.flags, FI_RMA | (write ? FI_WRITE : FI_READ));
}

static int refuse_worker(struct mp *mp, int rank, void *arg)
{
	struct fid_mr *mr, *mr_read;
	struct target t;
	struct fi_end e;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	if (rank == 1) {
		fi_end_fill(region, REGION, 1);
		mr = reg(&e, FI_REMOTE_WRITE);
		mr_read = reg(&e, FI_REMOTE_READ);
		t = (struct target){ (uintptr_t)region, fi_mr_key(mr),
				     fi_mr_key(mr_read) };
		CHECK_NE(t.key, t.read_key);
		mp_send(mp, 0, &t, sizeof(t));
		mp_barrier(mp);
		CHECK_OK(fi_close(&mr->fid));
		CHECK_OK(fi_close(&mr_read->fid));
		mp_barrier(mp);
		mp_barrier(mp);
		fi_end_check(region, REGION, 1);
	} else {
		mp_recv(mp, 1, &t, sizeof(t));
		refused(&e, true, t.addr, t.key ^ 0x5500, FI_EACCES);
		refused(&e, true, t.addr, t.key | 1ull << 40, FI_ENOKEY);
		refused(&e, true, t.addr, t.read_key, FI_EACCES);
		refused(&e, false, t.addr, t.key, FI_EACCES);
		refused(&e, true, t.addr + REGION - 63, t.key, FI_EACCES);
		refused(&e, true, t.addr - 1, t.key, FI_EACCES);
		refused(&e, false, UINT64_MAX - 10, t.read_key, FI_EACCES);
		mp_barrier(mp);
		mp_barrier(mp);
		refused(&e, true, t.addr, t.key, FI_EACCES);
		refused(&e, false, t.addr, t.read_key, FI_EACCES);
		mp_barrier(mp);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void wrong_keys_ranges_and_rights_are_refused(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, refuse_worker, NULL), 0);
}

/* ---- addresses -------------------------------------------------------- */

static int offset_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_info *hints = fi_end_hints(&plain), *info;
	struct fid_domain *domain;
	struct fid_fabric *fabric;
	struct fid_mr *mr;
	uint64_t base;
	uint8_t raw[8];
	size_t len = sizeof(raw);
	uint64_t key;

	(void)mp;
	(void)rank;
	(void)arg;
	hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED;
	CHECK_OK(fi_getinfo(FI_END_API, NULL, NULL, 0, hints, &info));
	CHECK_EQ(info->domain_attr->mr_mode, FI_MR_PROV_KEY | FI_MR_ALLOCATED);
	CHECK_OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	CHECK_OK(fi_domain(fabric, info, &domain, NULL));
	CHECK_OK(fi_mr_reg(domain, region, REGION, FI_REMOTE_READ, 0, 0, 0, &mr,
			   NULL));
	CHECK_OK(fi_mr_raw_attr(mr, &base, raw, &len, 0));
	CHECK_EQ(base, 0);
	CHECK_OK(fi_mr_map_raw(domain, base, raw, len, &key, 0));
	CHECK_EQ(key, fi_mr_key(mr));
	CHECK_EQ(fi_close(&domain->fid), -FI_EBUSY);
	CHECK_OK(fi_close(&mr->fid));
	CHECK_OK(fi_close(&domain->fid));
	CHECK_OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return 0;
}

static void without_virt_addr_regions_start_at_zero(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, offset_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_and_reads_need_nothing_from_the_target),
		cmocka_unit_test(written_data_arrives_once_and_after_the_bytes),
		cmocka_unit_test(wrong_keys_ranges_and_rights_are_refused),
		cmocka_unit_test(without_virt_addr_regions_start_at_zero),
	};

	fi_end_load();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
