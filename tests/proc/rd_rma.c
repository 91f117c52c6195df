/* SPDX-License-Identifier: BSD-2-Clause */
/* RD one-sided operations: bytes, keys, ranges, rights, remote data. */
#include <config.h>

#include "engine/ctx.h"
#include "engine/move/move.h"
#include "tests/proc/base.h"
#include "tests/proc/rd_lib.h"

#include <stdatomic.h>

enum { REGION = 1 << 20, BASE = 0x5000 };

struct target {
	uint32_t rw;		/* read and write */
	uint32_t ro;		/* read only */
	uint32_t other;		/* of another protection domain */
};

/* Runs one operation to its end; its result. */
static int rma(struct end *e, bool write, uint64_t addr, uint32_t rkey,
	       void *buf, size_t len, uint32_t flags, uint64_t data)
{
	struct iovec iov[2] = {
		{ buf, len / 2 },
		{ (char *)buf + len / 2, len - len / 2 },
	};
	struct rosm_rd_rma r = {
		.iov = iov,
		.iov_count = 2,
		.flags = flags,
		.remote_addr = addr,
		.rkey = rkey,
		.data = data,
		.context = buf,
	};
	struct rosm_rd_event ev;
	int rc;

	do {
		rc = write ? rosm_rd_write(e->rd, e->peer[0], &r) :
			     rosm_rd_read(e->rd, e->peer[0], &r);
		if (rc == -EAGAIN)
			CHECK_EQ(rosm_rd_poll(e->rd, &ev), 0);
	} while (rc == -EAGAIN);
	if (rc != ROSM_RD_PENDING)
		return rc;
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DONE);
	CHECK(ev.context == buf);
	return ev.status;
}

static void initiator(struct end *e)
{
	static const size_t lens[] = { 1, 8, 100, 4096, 50000, 300000, REGION };
	uint8_t *out = malloc(REGION), *in = malloc(REGION);
	struct target t;
	size_t i;

	mp_recv(e->mp, 0, &t, sizeof(t));
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i], at = (REGION - len) / 2;

		fill(out, len, i);
		CHECK_OK(rma(e, true, BASE + at, t.rw, out, len, 0, 0));
		memset(in, 0, len);
		CHECK_OK(rma(e, false, BASE + at, t.rw, in, len, 0, 0));
		check_fill(in, len, i);
	}
	/* what is not allowed is refused, and nothing is written */
	CHECK_EQ(rma(e, true, BASE, t.rw ^ 1, out, 8, 0, 0), -EACCES);
	CHECK_EQ(rma(e, true, BASE, 0xffffff00, out, 8, 0, 0), -EACCES);
	CHECK_EQ(rma(e, true, BASE + REGION - 4, t.rw, out, 8, 0, 0), -EACCES);
	CHECK_EQ(rma(e, true, BASE - 1, t.rw, out, 8, 0, 0), -EACCES);
	CHECK_EQ(rma(e, true, UINT64_MAX - 3, t.rw, out, 8, 0, 0), -EACCES);
	CHECK_EQ(rma(e, true, BASE, t.ro, out, 8, 0, 0), -EACCES);
	CHECK_OK(rma(e, false, BASE, t.ro, in, 8, 0, 0));
	CHECK_EQ(rma(e, false, BASE, t.other, in, 8, 0, 0), -EACCES);
	CHECK_OK(rma(e, true, 0, 0, out, 0, 0, 0));

	fill(out, 5000, 77);
	CHECK_OK(rma(e, true, BASE, t.rw, out, 5000, ROSM_RD_DATA, 4711));
	CHECK_OK(rma(e, true, 0, 0, out, 0, ROSM_RD_DATA, 4712));
	mp_barrier(e->mp);
	mp_barrier(e->mp);
	CHECK_EQ(rma(e, true, BASE, t.rw, out, 8, 0, 0), -EACCES);
	free(out);
	free(in);
}

/* Only polls: what it is asked to carry out is no event of its own. */
static void target(struct end *e)
{
	uint8_t *mem = malloc(REGION);
	struct rosm_mr *rw, *ro, *other;
	struct rosm_rd_event ev;
	struct rosm_pd *pd;
	struct target t;

	CHECK_OK(rosm_pd_alloc(e->ctx, &pd));
	CHECK_OK(rosm_mr_reg(e->pd, mem, REGION, BASE,
			     ROSM_ACCESS_LOCAL_WRITE |
				     ROSM_ACCESS_REMOTE_WRITE |
				     ROSM_ACCESS_REMOTE_READ, &rw));
	CHECK_OK(rosm_mr_reg(e->pd, mem, REGION, BASE, ROSM_ACCESS_REMOTE_READ,
			     &ro));
	CHECK_OK(rosm_mr_reg(pd, mem, REGION, BASE, ROSM_ACCESS_REMOTE_READ,
			     &other));
	t.rw = rosm_mr_rkey(rw);
	t.ro = rosm_mr_rkey(ro);
	t.other = rosm_mr_rkey(other);
	mp_send(e->mp, 1, &t, sizeof(t));
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DATA);
	CHECK(ev.peer == e->peer[1]);
	CHECK_EQ(ev.data, 4711);
	CHECK_EQ(ev.len, 5000);
	check_fill(mem, 5000, 77);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DATA);
	CHECK_EQ(ev.data, 4712);
	CHECK_EQ(ev.len, 0);
	mp_barrier(e->mp);
	CHECK_OK(rosm_mr_dereg(rw));
	mp_barrier(e->mp);
	while (!rosm_rd_poll(e->rd, &ev) &&
	       mp_recv_timeout(e->mp, 1, &t, sizeof(t), 0) == -ETIMEDOUT)
		sched_yield();
	CHECK_OK(rosm_mr_dereg(ro));
	CHECK_OK(rosm_mr_dereg(other));
	CHECK_OK(rosm_pd_free(pd));
	free(mem);
}

static int both(struct mp *mp, int rank, void *arg)
{
	struct end e;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		initiator(&e);
		mp_send(mp, 0, "x", 1);
	} else {
		target(&e);
	}
	end_close(&e);
	return 0;
}

static void bytes_go_both_ways_and_bad_keys_are_refused(void **state)
{
	assert_int_equal(mp_run(2, both, *state), 0);
}

/* ---- deregistration in the middle ---- */

enum { LARGE = 48 << 20 };

static bool touched(const uint8_t *region)
{
	return atomic_load((const _Atomic uint8_t *)region) == 0x11;
}

static void dereg_target(struct end *e, uint8_t *region)
{
	const struct timespec ms50 = { .tv_nsec = 50000000 };
	struct rosm_rd_event ev;
	struct rosm_mr *mr;
	uint32_t rkey;
	size_t i;
	char c;

	memset(region, 0, LARGE);
	CHECK_OK(rosm_mr_reg(e->pd, region, LARGE, 0,
			     ROSM_ACCESS_LOCAL_WRITE | ROSM_ACCESS_REMOTE_WRITE,
			     &mr));
	rkey = rosm_mr_rkey(mr);
	mp_send(e->mp, 1, &rkey, sizeof(rkey));
	while (!touched(region))
		CHECK_EQ(rosm_rd_poll(e->rd, &ev), 0);
	CHECK_OK(rosm_mr_dereg(mr));
	/* from here on it is nobody's but ours */
	memset(region, 0xab, LARGE);
	while (mp_recv_timeout(e->mp, 1, &c, 1, 1) == -ETIMEDOUT)
		CHECK_EQ(rosm_rd_poll(e->rd, &ev), 0);
	nanosleep(&ms50, NULL);
	for (i = 0; i < LARGE; i++)
		CHECK_EQ(region[i], 0xab);
}

static int dereg(struct mp *mp, int rank, void *arg)
{
	uint8_t *buf = malloc(LARGE);
	struct end e;
	uint32_t rkey;
	int rc;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		memset(buf, 0x11, LARGE);
		mp_recv(mp, 0, &rkey, sizeof(rkey));
		do
			rc = rma(&e, true, 0, rkey, buf, LARGE, 0, 0);
		while (!rc);
		CHECK_EQ(rc, -EACCES);
		mp_send(mp, 0, "x", 1);
	} else {
		dereg_target(&e, buf);
	}
	mp_barrier(mp);
	end_close(&e);
	free(buf);
	return 0;
}

static void deregistration_ends_a_write_under_way(void **state)
{
	assert_int_equal(mp_run(2, dereg, *state), 0);
}

/* As a drain looks for it: rank 1 writes and reads without a pause. */
static int named(struct mp *mp, int rank, void *arg)
{
	uint8_t *buf = calloc(1, LARGE);
	struct rosm_peer *p;
	struct rosm_mr *mr;
	struct end e;
	uint32_t rkey;
	uint64_t until, who;
	int write;
	char c = 0;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		mp_recv(mp, 0, &who, sizeof(who));
		p = base_peer(e.ctx->inst, who);
		/* else the target copies and names it itself */
		who = rosm_move_can_write(p) && rosm_move_can_read(p) ?
			      e.ctx->inst->who : 0;
		mp_send(mp, 0, &who, sizeof(who));
		mp_recv(mp, 0, &rkey, sizeof(rkey));
		for (write = who ? 1 : -1; write >= 0; write--) {
			while (mp_recv_timeout(mp, 0, &c, 1, 0) == -ETIMEDOUT)
				CHECK_OK(rma(&e, write, 0, rkey, buf, LARGE, 0,
					     0));
			mp_send(mp, 0, &c, 1);
		}
	} else {
		CHECK_OK(rosm_mr_reg(e.pd, buf, LARGE, 0,
				     ROSM_ACCESS_LOCAL_WRITE |
					     ROSM_ACCESS_REMOTE_READ |
					     ROSM_ACCESS_REMOTE_WRITE, &mr));
		rkey = rosm_mr_rkey(mr);
		mp_send(mp, 1, &e.ctx->inst->who, sizeof(who));
		mp_recv(mp, 1, &who, sizeof(who));
		mp_send(mp, 1, &rkey, sizeof(rkey));
		p = who ? base_peer(e.ctx->inst, who) : NULL;
		for (write = p ? 1 : -1; write >= 0; write--) {
			until = mp_now_ns() + 5000000000ull;
			while (!base_names(p, e.ctx->inst->who, rkey))
				CHECK_LT(mp_now_ns(), until);
			mp_send(mp, 1, &c, 1);
			/* what it has begun is over before the next look */
			mp_recv(mp, 1, &c, 1);
		}
	}
	mp_barrier(mp);
	if (!rank)
		CHECK_OK(rosm_mr_dereg(mr));
	end_close(&e);
	free(buf);
	return 0;
}

static void a_copy_under_way_names_its_key(void **state)
{
	assert_int_equal(mp_run(2, named, *state), 0);
}

/* ---- data announced to a full ring ---- */

static int crowded(struct mp *mp, int rank, void *arg)
{
	enum { WRITES = 500, SOME = 20 };
	uint64_t word = 0, n = 0, done = 0, posted = 0;
	struct iovec iov = { &word, sizeof(word) };
	struct rosm_rd_rma r = { .iov = &iov, .iov_count = 1,
				 .flags = ROSM_RD_DATA };
	struct rosm_mr *mr;
	struct rosm_rd_event ev;
	struct end e;
	int rc;

	end_open(&e, mp, rank, arg, 64);
	end_meet(&e);
	if (!rank) {
		CHECK_OK(rosm_mr_reg(e.pd, &word, sizeof(word), 0,
				     ROSM_ACCESS_LOCAL_WRITE |
					     ROSM_ACCESS_REMOTE_WRITE, &mr));
		r.rkey = rosm_mr_rkey(mr);
		mp_send(mp, 1, &r.rkey, sizeof(r.rkey));
		mp_recv(mp, 1, &n, sizeof(n));
		for (n = 0; n < WRITES; n++) {
			if (n == SOME) {
				mp_send(mp, 1, &n, sizeof(n));
				mp_recv(mp, 1, &n, sizeof(n));
				n = SOME;
			}
			next_event(&e, &ev);
			CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DATA);
			CHECK_EQ(ev.data, n);
			CHECK_EQ(ev.len, sizeof(word));
		}
		mp_barrier(mp);
		CHECK_OK(rosm_mr_dereg(mr));
	} else {
		mp_recv(mp, 0, &r.rkey, sizeof(r.rkey));
		for (r.data = 0; r.data < WRITES; r.data++) {
			while ((rc = rosm_rd_write(e.rd, e.peer[0], &r)) ==
			       -EAGAIN) {
				if (!rosm_rd_poll(e.rd, &ev))
					continue;
				CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DONE);
				done++;
			}
			CHECK_GE(rc, 0);
			posted += (uint64_t)rc;
			if (r.data != WRITES / 2)
				continue;
			/* room comes while some wait: the next do not overtake */
			mp_send(mp, 0, &n, sizeof(n));
			mp_recv(mp, 0, &n, sizeof(n));
		}
		CHECK_GT(posted, 0);
		mp_send(mp, 0, &posted, sizeof(posted));
		for (; done < posted; done++) {
			next_event(&e, &ev);
			CHECK_EQ(ev.type, ROSM_RD_EV_RMA_DONE);
			CHECK_OK(ev.status);
		}
		mp_barrier(mp);
	}
	end_close(&e);
	return 0;
}

static void data_waits_for_room_in_the_ring(void **state)
{
	assert_int_equal(mp_run(2, crowded, *state), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "bytes_go_both_ways_and_bad_keys_are_refused",
		  bytes_go_both_ways_and_bad_keys_are_refused, NULL, NULL,
		  "1" },
		{ "bytes_go_both_ways_and_bad_keys_are_refused_without_cma",
		  bytes_go_both_ways_and_bad_keys_are_refused, NULL, NULL,
		  "0" },
		{ "deregistration_ends_a_write_under_way",
		  deregistration_ends_a_write_under_way, NULL, NULL, "1" },
		{ "deregistration_ends_a_write_under_way_without_cma",
		  deregistration_ends_a_write_under_way, NULL, NULL, "0" },
		{ "a_copy_under_way_names_its_key",
		  a_copy_under_way_names_its_key, NULL, NULL, "1" },
		{ "data_waits_for_room_in_the_ring",
		  data_waits_for_room_in_the_ring, NULL, NULL, "1" },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
