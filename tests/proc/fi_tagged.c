/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tagged messages over libfabric between processes: order, wildcards,
 * directed receives, truncation, peek, claim, discard, cancel, selective
 * completion, and many unexpected ones.
 */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/proc/fi_end.h"

enum {
	SMALL = 40,
	EAGER = 5000,
	LARGE = 300000,
	MANY = 12000,
};

static const size_t sizes[] = { 0, 1, 8, 80, 81, 4096, 8192, 8193, LARGE };
#define NSIZES	(sizeof(sizes) / sizeof(sizes[0]))

static const struct fi_end_opts plain = {
	.caps = FI_TAGGED | FI_DIRECTED_RECV,
};

static void send_one(struct fi_end *e, int to, const void *buf, size_t len,
		     uint64_t tag)
{
	struct fi_cq_tagged_entry c;
	int ctx;

	CHECK_OK(FI_END_AGAIN(e, fi_tsend(e->ep, buf, len, NULL, e->addr[to],
					  tag, &ctx)));
	c = fi_end_wait(e);
	CHECK(c.op_context == &ctx);
	CHECK_EQ(c.flags, FI_TAGGED | FI_SEND);
}

/* ---- order ---------------------------------------------------------- */

/* Sizes that travel in different ways, all with one tag. */
static int order_worker(struct mp *mp, int rank, void *arg)
{
	const bool posted = *(bool *)arg;
	static uint8_t buf[NSIZES][LARGE];
	struct fi_cq_tagged_entry c;
	struct fi_end e;
	size_t i, round;

	fi_end_open(&e, mp, rank, &plain);
	for (round = 0; round < 20; round++) {
		if (rank == 0) {
			if (posted)
				mp_barrier(mp);
			for (i = 0; i < NSIZES; i++) {
				fi_end_fill(buf[i], sizes[i], (uint32_t)i);
				CHECK_OK(FI_END_AGAIN(&e, fi_tsend(e.ep,
					buf[i], sizes[i], NULL, e.addr[1], 5,
					buf[i])));
			}
			if (!posted)
				mp_barrier(mp);
			for (i = 0; i < NSIZES; i++)
				fi_end_wait(&e);
			continue;
		}
		if (!posted)
			mp_barrier(mp);
		for (i = 0; i < NSIZES; i++)
			CHECK_OK(fi_trecv(e.ep, buf[i], LARGE, NULL, e.addr[0],
					  5, 0, buf[i]));
		if (posted)
			mp_barrier(mp);
		for (i = 0; i < NSIZES; i++) {
			size_t at;

			c = fi_end_wait(&e);
			at = (size_t)((uint8_t (*)[LARGE])c.op_context - buf);
			CHECK_LT(at, NSIZES);
			CHECK_EQ(c.len, sizes[at]);
			CHECK_EQ(c.tag, 5);
			CHECK_EQ(c.flags, FI_TAGGED | FI_RECV);
			fi_end_check(buf[at], c.len, (uint32_t)at);
		}
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void messages_of_one_tag_keep_their_order(void **state)
{
	bool posted = true;

	(void)state;
	assert_int_equal(mp_run(2, order_worker, &posted), 0);
}

static void unexpected_messages_of_one_tag_keep_their_order(void **state)
{
	bool posted = false;

	(void)state;
	assert_int_equal(mp_run(2, order_worker, &posted), 0);
}

/* ---- all to all, self included --------------------------------------- */

static int all_worker(struct mp *mp, int rank, void *arg)
{
	int n = mp_size(mp), i, left;
	uint8_t *in, *out;
	struct fi_end e;
	size_t s;

	(void)arg;
	in = malloc((size_t)n * LARGE);
	out = malloc(LARGE);
	CHECK(in && out);
	fi_end_open(&e, mp, rank, &plain);
	for (s = 0; s < NSIZES; s++) {
		size_t len = sizes[s];

		fi_end_fill(out, len, (uint32_t)(rank + 10 * (int)s));
		for (i = 0; i < n; i++)
			CHECK_OK(fi_trecv(e.ep, in + (size_t)i * LARGE, len,
					  NULL, e.addr[i], s, 0, in));
		for (i = 0; i < n; i++)
			CHECK_OK(FI_END_AGAIN(&e, fi_tsend(e.ep, out, len,
					NULL, e.addr[(rank + i) % n], s,
					out)));
		for (left = 2 * n; left; left--)
			fi_end_wait(&e);
		for (i = 0; i < n; i++)
			fi_end_check(in + (size_t)i * LARGE, len,
				     (uint32_t)(i + 10 * (int)s));
	}
	mp_barrier(mp);
	fi_end_close(&e);
	free(in);
	free(out);
	return 0;
}

static void each_rank_reaches_each_and_itself(void **state)
{
	(void)state;
	assert_int_equal(mp_run(4, all_worker, NULL), 0);
}

/* ---- wildcards and directed receives --------------------------------- */

static int directed_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_cq_tagged_entry c;
	uint32_t any, mask, two, one;
	uint32_t word = 0x1000u + (uint32_t)rank;
	struct fi_end e;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	if (rank) {
		mp_barrier(mp);
		if (rank == 2)
			mp_barrier(mp);		/* after rank 1 was sent */
		send_one(&e, 0, &word, sizeof(word), 0x77);
		if (rank == 1)
			mp_barrier(mp);
		mp_barrier(mp);
		send_one(&e, 0, &word, sizeof(word), rank == 1 ? 0x70 : 0x171);
		mp_barrier(mp);
		fi_end_close(&e);
		return 0;
	}
	/* two takes nothing of rank 1, though it is older than any */
	CHECK_OK(fi_trecv(e.ep, &two, 4, NULL, e.addr[2], 0x77, 0, &two));
	CHECK_OK(fi_trecv(e.ep, &any, 4, NULL, FI_ADDR_UNSPEC, 0x77, 0, &any));
	CHECK_OK(fi_trecv(e.ep, &mask, 4, NULL, FI_ADDR_UNSPEC, 0x70, 0xf,
			  &mask));
	CHECK_OK(fi_trecv(e.ep, &one, 4, NULL, e.addr[2], 0, UINT64_MAX,
			  &one));
	mp_barrier(mp);
	c = fi_end_wait(&e);
	CHECK(c.op_context == &any);
	CHECK_EQ(any, 0x1001);
	mp_barrier(mp);
	c = fi_end_wait(&e);
	CHECK(c.op_context == &two);
	CHECK_EQ(two, 0x1002);
	fi_end_quiet(&e);
	mp_barrier(mp);
	c = fi_end_wait(&e);
	CHECK(c.op_context == &mask || c.op_context == &one);
	CHECK_EQ(c.tag, c.op_context == &mask ? 0x70 : 0x171);
	c = fi_end_wait(&e);
	CHECK_EQ(mask, 0x1001);
	CHECK_EQ(one, 0x1002);
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void directed_receives_take_from_their_source_only(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, directed_worker, NULL), 0);
}

/* ---- truncation ------------------------------------------------------ */

static int trunc_worker(struct mp *mp, int rank, void *arg)
{
	static const size_t lens[] = { SMALL, EAGER, LARGE };
	static uint8_t buf[LARGE];
	struct fi_cq_err_entry err;
	struct fi_end e;
	size_t i;
	int ctx;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	for (i = 0; i < 3; i++) {
		fi_end_fill(buf, lens[i], 3);
		if (rank == 0) {
			send_one(&e, 1, buf, lens[i], i);
			continue;
		}
		memset(buf, 0xee, sizeof(buf));
		CHECK_OK(fi_trecv(e.ep, buf, lens[i] - 10, NULL, e.addr[0], i,
				  0, &ctx));
		err = fi_end_wait_err(&e, FI_ETRUNC);
		CHECK(err.op_context == &ctx);
		CHECK_EQ(err.len, lens[i] - 10);
		CHECK_EQ(err.olen, 10);
		CHECK_EQ(err.tag, i);
		fi_end_check(buf, lens[i] - 10, 3);
		CHECK_EQ(buf[lens[i] - 10], 0xee);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void a_short_buffer_gets_its_part_and_etrunc(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, trunc_worker, NULL), 0);
}

/* ---- peek, claim, discard -------------------------------------------- */

static void recvmsg(struct fi_end *e, void *buf, size_t len, uint64_t tag,
		    uint64_t flags, void *context)
{
	struct iovec iov = { buf, len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.iov_count = buf ? 1 : 0,
		.addr = FI_ADDR_UNSPEC,
		.tag = tag,
		.context = context,
	};

	CHECK_OK(fi_trecvmsg(e->ep, &msg, flags));
}

static void peek_until_there(struct fi_end *e, uint64_t tag, uint64_t flags,
			     size_t len)
{
	struct fi_cq_tagged_entry c;
	struct fi_cq_err_entry err;
	struct fi_context ctx;
	ssize_t ret;

	for (;;) {
		recvmsg(e, NULL, 0, tag, FI_PEEK | FI_COMPLETION | flags, &ctx);
		ret = fi_cq_read(e->cq, &c, 1);
		if (ret == 1)
			break;
		CHECK_EQ(ret, -FI_EAVAIL);
		memset(&err, 0, sizeof(err));
		CHECK_EQ(fi_cq_readerr(e->cq, &err, 0), 1);
		CHECK_EQ(err.err, FI_ENOMSG);
		CHECK(err.op_context == &ctx);
	}
	CHECK(c.op_context == &ctx);
	CHECK_EQ(c.tag, tag);
	CHECK_EQ(c.len, len);
	CHECK_EQ(c.flags & (FI_TAGGED | FI_RECV), FI_TAGGED | FI_RECV);
}

static void peek_all(struct fi_end *e, size_t len, uint8_t *buf)
{
	struct fi_cq_tagged_entry c;
	struct fi_context ctx, ctx2;

	/* seen, still there, received */
	peek_until_there(e, 1, 0, len);
	peek_until_there(e, 1, 0, len);
	CHECK_OK(fi_trecv(e->ep, buf, len, NULL, FI_ADDR_UNSPEC, 1, 0, &ctx));
	c = fi_end_wait(e);
	CHECK_EQ(c.len, len);
	fi_end_check(buf, len, 1);
	recvmsg(e, NULL, 0, 1, FI_PEEK, &ctx);
	fi_end_wait_err(e, FI_ENOMSG);
	/* discarded */
	peek_until_there(e, 2, FI_DISCARD, len);
	recvmsg(e, NULL, 0, 2, FI_PEEK, &ctx);
	fi_end_wait_err(e, FI_ENOMSG);
	/* claimed: gone for others, received by its context */
	recvmsg(e, NULL, 0, 3, FI_PEEK | FI_CLAIM, &ctx);
	c = fi_end_wait(e);
	CHECK_EQ(c.len, len);
	recvmsg(e, NULL, 0, 3, FI_PEEK, &ctx2);
	fi_end_wait_err(e, FI_ENOMSG);
	memset(buf, 0, len);
	recvmsg(e, buf, len, 3, FI_CLAIM, &ctx);
	c = fi_end_wait(e);
	CHECK(c.op_context == &ctx);
	CHECK_EQ(c.len, len);
	CHECK_EQ(c.tag, 3);
	fi_end_check(buf, len, 3);
	/* claimed and discarded */
	recvmsg(e, NULL, 0, 4, FI_PEEK | FI_CLAIM, &ctx);
	fi_end_wait(e);
	recvmsg(e, NULL, 0, 4, FI_CLAIM | FI_DISCARD, &ctx);
	fi_end_wait(e);
}

static int peek_worker(struct mp *mp, int rank, void *arg)
{
	static const size_t lens[] = { SMALL, EAGER, LARGE };
	static uint8_t buf[4][LARGE];
	struct fi_end e;
	size_t i;
	uint32_t t;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	for (i = 0; i < 3; i++) {
		if (rank == 0) {
			for (t = 0; t < 4; t++) {
				fi_end_fill(buf[t], lens[i], t + 1);
				CHECK_OK(FI_END_AGAIN(&e, fi_tsend(e.ep,
					buf[t], lens[i], NULL, e.addr[1],
					t + 1, buf[t])));
			}
			mp_barrier(mp);
			for (t = 0; t < 4; t++)
				fi_end_wait(&e);
		} else {
			mp_barrier(mp);
			peek_all(&e, lens[i], buf[0]);
		}
		mp_barrier(mp);
	}
	fi_end_close(&e);
	return 0;
}

static void peek_claim_and_discard_find_messages(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, peek_worker, NULL), 0);
}

/* ---- cancel ---------------------------------------------------------- */

static int cancel_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_cq_tagged_entry c;
	struct fi_cq_err_entry err;
	uint64_t a = 0, b = 0, word = 42;
	struct fi_end e;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	if (rank == 0) {
		mp_barrier(mp);
		send_one(&e, 1, &word, sizeof(word), 9);
	} else {
		CHECK_OK(fi_trecv(e.ep, &a, 8, NULL, FI_ADDR_UNSPEC, 9, 0, &a));
		CHECK_OK(fi_trecv(e.ep, &b, 8, NULL, FI_ADDR_UNSPEC, 9, 0, &b));
		CHECK_OK(fi_cancel(&e.ep->fid, &a));
		err = fi_end_wait_err(&e, FI_ECANCELED);
		CHECK(err.op_context == &a);
		CHECK_EQ(fi_cancel(&e.ep->fid, &a), -FI_ENOENT);
		mp_barrier(mp);
		c = fi_end_wait(&e);
		CHECK(c.op_context == &b);
		CHECK_EQ(b, 42);
		CHECK_EQ(a, 0);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void a_cancelled_receive_takes_no_message(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, cancel_worker, NULL), 0);
}

/* ---- selective completion -------------------------------------------- */

static int selective_worker(struct mp *mp, int rank, void *arg)
{
	const struct fi_end_opts opts = {
		.caps = FI_TAGGED,
		.bind_flags = FI_SELECTIVE_COMPLETION,
	};
	struct fi_cq_tagged_entry c;
	struct iovec iov;
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1 };
	uint64_t in[3] = { 0 }, out;
	struct fi_end e;
	uint32_t i;

	(void)arg;
	fi_end_open(&e, mp, rank, &opts);
	if (rank == 0) {
		mp_barrier(mp);
		for (i = 0; i < 3; i++) {
			out = i + 1;
			iov = (struct iovec){ &out, sizeof(out) };
			msg.addr = e.addr[1];
			msg.tag = i;
			msg.context = &out;
			CHECK_OK(FI_END_AGAIN(&e, fi_tsendmsg(e.ep, &msg,
					i == 1 ? FI_COMPLETION : 0)));
		}
		c = fi_end_wait(&e);
		CHECK(c.op_context == &out);
		fi_end_quiet(&e);
	} else {
		for (i = 0; i < 3; i++) {
			iov = (struct iovec){ &in[i], sizeof(in[i]) };
			msg.addr = FI_ADDR_UNSPEC;
			msg.tag = i;
			msg.context = &in[i];
			CHECK_OK(fi_trecvmsg(e.ep, &msg,
					     i == 2 ? FI_COMPLETION : 0));
		}
		mp_barrier(mp);
		c = fi_end_wait(&e);
		CHECK(c.op_context == &in[2]);
		for (i = 0; i < 3; i++)
			CHECK_EQ(in[i], i + 1);
		fi_end_quiet(&e);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void selective_completion_reports_what_was_asked(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, selective_worker, NULL), 0);
}

/* ---- many unexpected -------------------------------------------------- */

static int many_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_cq_tagged_entry c;
	static uint64_t in[MANY];
	struct fi_end e;
	uint64_t i, word;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	if (rank == 0) {
		for (i = 0; i < MANY; i++) {
			word = i * 3;
			CHECK_OK(FI_END_AGAIN(&e, fi_tinjectdata(e.ep, &word,
					sizeof(word), i, e.addr[1], i)));
		}
		word = 0;
		CHECK_OK(FI_END_AGAIN(&e, fi_tinject(e.ep, &word, sizeof(word),
						     e.addr[1], MANY)));
	} else {
		/* the last one is there: so are the others */
		CHECK_OK(fi_trecv(e.ep, &word, 8, NULL, e.addr[0], MANY, 0,
				  &word));
		c = fi_end_wait(&e);
		CHECK(c.op_context == &word);
		for (i = MANY; i-- > 0;)
			CHECK_OK(fi_trecv(e.ep, &in[i], 8, NULL,
					  i & 1 ? e.addr[0] : FI_ADDR_UNSPEC,
					  i, 0, &in[i]));
		for (i = MANY; i-- > 0;) {
			c = fi_end_wait(&e);
			CHECK(c.op_context == &in[i]);
			CHECK_EQ(c.data, i);
			CHECK_EQ(c.flags, FI_TAGGED | FI_RECV |
					  FI_REMOTE_CQ_DATA);
			CHECK_EQ(in[i], i * 3);
		}
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void twelve_thousand_unexpected_messages_are_kept(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, many_worker, NULL), 0);
}

/* ---- scattered buffers ------------------------------------------------ */

static int iov_worker(struct mp *mp, int rank, void *arg)
{
	static const size_t lens[] = { SMALL, EAGER, LARGE };
	static uint8_t buf[LARGE];
	struct fi_end e;
	size_t i;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	for (i = 0; i < 3; i++) {
		size_t len = lens[i], cut = rank ? len / 3 : len / 7;
		struct iovec iov[3] = {
			{ buf, cut },
			{ buf + cut, cut },
			{ buf + 2 * cut, len - 2 * cut },
		};

		if (rank == 0) {
			fi_end_fill(buf, len, 9);
			CHECK_OK(FI_END_AGAIN(&e, fi_tsendv(e.ep, iov, NULL, 3,
						e.addr[1], i, buf)));
		} else {
			memset(buf, 0, len);
			CHECK_OK(fi_trecvv(e.ep, iov, NULL, 3, e.addr[0], i, 0,
					   buf));
		}
		fi_end_wait(&e);
		if (rank == 1)
			fi_end_check(buf, len, 9);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void scattered_buffers_carry_one_message(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, iov_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_one_tag_keep_their_order),
		cmocka_unit_test(unexpected_messages_of_one_tag_keep_their_order),
		cmocka_unit_test(each_rank_reaches_each_and_itself),
		cmocka_unit_test(directed_receives_take_from_their_source_only),
		cmocka_unit_test(a_short_buffer_gets_its_part_and_etrunc),
		cmocka_unit_test(peek_claim_and_discard_find_messages),
		cmocka_unit_test(a_cancelled_receive_takes_no_message),
		cmocka_unit_test(selective_completion_reports_what_was_asked),
		cmocka_unit_test(twelve_thousand_unexpected_messages_are_kept),
		cmocka_unit_test(scattered_buffers_carry_one_message),
	};

	fi_end_load();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
