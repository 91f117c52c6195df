/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Untagged messages over libfabric between processes: multi-receive buffers,
 * remote CQ data, inject, delivery complete, sources, services by name, and
 * the formats of completion entries.
 */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/proc/fi_end.h"

enum { LARGE = 100000, MULTI = 64 * 1024, PIECES = 400 };

static const struct fi_end_opts plain = {
	.caps = FI_MSG | FI_SOURCE | FI_DIRECTED_RECV | FI_MULTI_RECV,
};

static const struct fi_end_opts table = {
	.caps = FI_MSG | FI_SOURCE,
	.av_type = FI_AV_TABLE,
};

/* ---- multi-receive ---------------------------------------------------- */

static size_t piece_len(uint32_t i)
{
	return i % 40 == 39 ? 20000 : 50 + i % 100;
}

static void post_multi(struct fi_end *e, void *buf, void *context)
{
	struct iovec iov = { buf, MULTI };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = context,
	};

	CHECK_OK(fi_recvmsg(e->ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
}

/*
 * Two buffers in turn. Pieces come in order, each behind the one before it in
 * the same buffer; the last one of a buffer says FI_MULTI_RECV, and until then
 * the buffer is not posted again.
 */
static void take_pieces(struct fi_end *e)
{
	static uint8_t buf[2][MULTI];
	uint32_t taken = 0, released = 0;

	post_multi(e, buf[0], buf[0]);
	post_multi(e, buf[1], buf[1]);
	while (taken < PIECES) {
		struct fi_cq_tagged_entry c = fi_end_wait(e);
		uint8_t *at = c.buf, *start = c.op_context;

		CHECK(start == buf[0] || start == buf[1]);
		CHECK_GE(at - start, 0);
		CHECK_LE(at + c.len - start, MULTI);
		CHECK_EQ(c.flags & (FI_MSG | FI_RECV), FI_MSG | FI_RECV);
		CHECK_EQ(c.len, piece_len((uint32_t)c.data));
		fi_end_check(at, c.len, (uint32_t)c.data);
		taken++;
		if (c.flags & FI_MULTI_RECV) {
			released++;
			post_multi(e, start, start);
		}
	}
	CHECK_GE(released, 2);
}

static int multi_worker(struct mp *mp, int rank, void *arg)
{
	const bool *late = arg;
	uint8_t *out = malloc((size_t)PIECES * 20000);
	size_t min = 20000;
	struct fi_end e;
	uint32_t i;

	CHECK(out);
	fi_end_open(&e, mp, rank, &plain);
	CHECK_OK(fi_setopt(&e.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			   &min, sizeof(min)));
	if (rank == 0) {
		for (i = 0; i < PIECES; i++) {
			uint8_t *at = out + (size_t)i * 20000;

			fi_end_fill(at, piece_len(i), i);
			CHECK_OK(FI_END_AGAIN(&e, fi_senddata(e.ep, at,
					piece_len(i), NULL, i, e.addr[1],
					at)));
			if (*late && i == 10)
				mp_barrier(mp);
		}
		for (i = 0; i < PIECES; i++)
			CHECK_EQ(fi_end_wait(&e).flags, FI_MSG | FI_SEND);
	} else {
		if (*late)
			mp_barrier(mp);
		take_pieces(&e);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	free(out);
	return 0;
}

static void multi_receive_buffers_are_filled_and_released(void **state)
{
	bool late = false;

	(void)state;
	assert_int_equal(mp_run(2, multi_worker, &late), 0);
}

static void multi_receive_buffers_take_waiting_messages(void **state)
{
	bool late = true;

	(void)state;
	assert_int_equal(mp_run(2, multi_worker, &late), 0);
}

/* ---- inject, data, delivery complete ---------------------------------- */

static int inject_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_cq_tagged_entry c;
	static uint8_t buf[8 * 8192], out[8192];
	struct fi_end e;
	size_t size;
	uint32_t i;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	size = e.info->tx_attr->inject_size;
	CHECK_EQ(size, 8192);
	if (rank == 1)
		for (i = 0; i < 8; i++)
			CHECK_OK(fi_recv(e.ep, buf + i * 8192, 8192, NULL,
					 FI_ADDR_UNSPEC, buf + i * 8192));
	mp_barrier(mp);
	for (i = 0; i < 8; i++) {
		if (rank == 0) {
			fi_end_fill(out, size - i, i);
			CHECK_OK(FI_END_AGAIN(&e, fi_injectdata(e.ep, out,
					size - i, ~(uint64_t)i, e.addr[1])));
			memset(out, 0, sizeof(out));
			continue;
		}
		c = fi_end_wait(&e);
		CHECK(c.op_context == buf + i * 8192);
		CHECK_EQ(c.len, size - i);
		CHECK_EQ(c.data, ~(uint64_t)i);
		CHECK_EQ(c.flags, FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA);
		fi_end_check(c.op_context, c.len, i);
	}
	if (rank == 0) {
		fi_end_quiet(&e);
		CHECK_EQ(fi_inject(e.ep, buf, size + 1, e.addr[1]),
			 -FI_EMSGSIZE);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void injected_data_may_be_overwritten_at_once(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, inject_worker, NULL), 0);
}

static int delivery_worker(struct mp *mp, int rank, void *arg)
{
	static const size_t lens[] = { 0, 8, 4000, LARGE };
	static uint8_t buf[LARGE];
	struct iovec iov = { .iov_base = buf };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct fi_end e;
	size_t i;
	int spin;

	(void)arg;
	fi_end_open(&e, mp, rank, &plain);
	msg.addr = e.addr[1];
	msg.context = &e;
	for (i = 0; i < 4; i++) {
		iov.iov_len = lens[i];
		if (rank == 0) {
			fi_end_fill(buf, lens[i], 1);
			CHECK_OK(FI_END_AGAIN(&e, fi_sendmsg(e.ep, &msg,
				FI_DELIVERY_COMPLETE | FI_COMPLETION)));
			mp_barrier(mp);
			mp_barrier(mp);
			/* met, but not received, so not complete */
			for (spin = 0; spin < 1000; spin++)
				fi_end_quiet(&e);
			mp_barrier(mp);
			CHECK(fi_end_wait(&e).op_context == &e);
		} else {
			mp_barrier(mp);
			for (spin = 0; spin < 1000; spin++)
				fi_end_progress(&e);
			mp_barrier(mp);
			mp_barrier(mp);
			CHECK_OK(fi_recv(e.ep, buf, LARGE, NULL,
					 FI_ADDR_UNSPEC, &buf));
			CHECK_EQ(fi_end_wait(&e).len, lens[i]);
			fi_end_check(buf, lens[i], 1);
		}
		mp_barrier(mp);
	}
	fi_end_close(&e);
	return 0;
}

static void delivery_complete_waits_for_the_receive(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, delivery_worker, NULL), 0);
}

/* ---- sources ---------------------------------------------------------- */

static int source_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_cq_tagged_entry c;
	char name[64], found[64], text[256];
	size_t len = sizeof(name), text_len = sizeof(text);
	fi_addr_t src, later;
	uint64_t word = 0;
	struct fi_end e;
	ssize_t ret;
	int i;

	fi_end_open(&e, mp, rank, arg);
	if (rank) {
		word = (uint64_t)rank;
		CHECK_OK(FI_END_AGAIN(&e, fi_inject(e.ep, &word, sizeof(word),
						    e.addr[0])));
		mp_barrier(mp);
		CHECK_OK(FI_END_AGAIN(&e, fi_inject(e.ep, &word, sizeof(word),
						    e.addr[0])));
		mp_barrier(mp);
		fi_end_close(&e);
		return 0;
	}
	for (i = 1; i < 3; i++) {
		CHECK_OK(fi_recv(e.ep, &word, sizeof(word), NULL,
				 FI_ADDR_UNSPEC, NULL));
		while ((ret = fi_cq_readfrom(e.cq, &c, 1, &src)) == -FI_EAGAIN)
			;
		CHECK_EQ(ret, 1);
		CHECK_EQ(src, e.addr[word]);
	}
	/* removed: unknown; inserted again: known again */
	len = sizeof(name);
	CHECK_OK(fi_av_lookup(e.av, e.addr[1], name, &len));
	CHECK_EQ(len, 64);
	CHECK(fi_av_straddr(e.av, name, text, &text_len) == text);
	CHECK_EQ(strncmp(text, "rosm://", 7), 0);
	CHECK_OK(fi_av_remove(e.av, &e.addr[1], 1, 0));
	CHECK_EQ(fi_av_lookup(e.av, e.addr[1], found, &len), -FI_EINVAL);
	CHECK_EQ(fi_send(e.ep, &word, 8, NULL, e.addr[1], NULL), -FI_EINVAL);
	mp_barrier(mp);
	for (i = 1; i < 3; i++) {
		CHECK_OK(fi_recv(e.ep, &word, sizeof(word), NULL,
				 FI_ADDR_UNSPEC, NULL));
		while ((ret = fi_cq_readfrom(e.cq, &c, 1, &src)) == -FI_EAGAIN)
			;
		CHECK_EQ(ret, 1);
		CHECK_EQ(src, word == 1 ? FI_ADDR_NOTAVAIL : e.addr[word]);
	}
	CHECK_EQ(fi_av_insert(e.av, name, 1, &later, 0, NULL), 1);
	CHECK_EQ(later, e.addr[1]);	/* the lowest free place */
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void completions_name_their_source(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, source_worker, (void *)&plain), 0);
}

static void completions_name_their_source_in_a_table(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, source_worker, (void *)&table), 0);
}

/* ---- services --------------------------------------------------------- */

static int service_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_end_opts opts = { .caps = FI_MSG };
	fi_addr_t by_name, by_other;
	uint64_t word = 7;
	struct fi_end e;

	(void)arg;
	opts.service = rank ? NULL : "9228";
	if (rank) {
		fi_end_open(&e, NULL, rank, &opts);
		/* made before anybody serves it */
		CHECK_EQ(fi_av_insertsvc(e.av, "127.0.0.1", "9228", &by_name, 0,
					 NULL), 1);
		CHECK_EQ(fi_av_insertsvc(e.av, "localhost", "9229", &by_other,
					 0, NULL), 1);
		CHECK_EQ(fi_inject(e.ep, &word, sizeof(word), by_name),
			 -FI_EHOSTUNREACH);
		mp_barrier(mp);
		mp_barrier(mp);
		CHECK_OK(FI_END_AGAIN(&e, fi_inject(e.ep, &word, sizeof(word),
						    by_name)));
		CHECK_EQ(fi_inject(e.ep, &word, sizeof(word), by_other),
			 -FI_EHOSTUNREACH);
	} else {
		mp_barrier(mp);
		fi_end_open(&e, NULL, rank, &opts);
		CHECK_EQ(e.info->src_addrlen, 64);
		mp_barrier(mp);
		CHECK_OK(fi_recv(e.ep, &word, sizeof(word), NULL,
				 FI_ADDR_UNSPEC, NULL));
		fi_end_wait(&e);
		CHECK_EQ(word, 7);
	}
	mp_barrier(mp);
	fi_end_close(&e);
	return 0;
}

static void a_bound_service_is_found_by_name(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, service_worker, NULL), 0);
}

static int twice_worker(struct mp *mp, int rank, void *arg)
{
	struct fi_end_opts opts = { .caps = FI_MSG, .service = "77" };
	struct fi_av_attr av_attr = { 0 };
	struct fi_cq_attr cq_attr = { 0 };
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fi_end e;

	(void)arg;
	fi_end_open(&e, NULL, rank, &opts);
	(void)mp;
	CHECK_OK(fi_endpoint(e.domain, e.info, &ep, NULL));
	CHECK_OK(fi_av_open(e.domain, &av_attr, &av, NULL));
	CHECK_OK(fi_cq_open(e.domain, &cq_attr, &cq, NULL));
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_EQ(fi_enable(ep), -FI_ENOCQ);
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_EQ(fi_enable(ep), -FI_EADDRINUSE);
	CHECK_EQ(fi_close(&av->fid), -FI_EBUSY);
	CHECK_OK(fi_close(&ep->fid));
	CHECK_OK(fi_close(&av->fid));
	CHECK_OK(fi_close(&cq->fid));
	fi_end_close(&e);
	/* free again */
	fi_end_open(&e, NULL, rank, &opts);
	fi_end_close(&e);
	return 0;
}

static void a_service_is_bound_once(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, twice_worker, NULL), 0);
}

/* ---- formats ---------------------------------------------------------- */

static int format_worker(struct mp *mp, int rank, void *arg)
{
	static const size_t bytes[] = {
		[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
		[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
		[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
		[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
	};
	struct fi_end_opts opts = { .caps = FI_MSG };
	union {
		struct fi_cq_tagged_entry entry[2];
		uint8_t raw[2 * sizeof(struct fi_cq_tagged_entry)];
	} got;
	uint64_t word = 5, in[2];
	struct fi_end e;
	size_t f;
	int i, n;

	(void)arg;
	for (f = FI_CQ_FORMAT_CONTEXT; f <= FI_CQ_FORMAT_TAGGED; f++) {
		opts.format = (enum fi_cq_format)f;
		fi_end_open(&e, mp, rank, &opts);
		for (i = 0; i < 2; i++)
			CHECK_OK(fi_recv(e.ep, &in[i], 8, NULL, FI_ADDR_UNSPEC,
					 &in[i]));
		for (i = 0; i < 2; i++)
			CHECK_OK(FI_END_AGAIN(&e, fi_injectdata(e.ep, &word, 8,
							9, e.addr[rank])));
		memset(&got, 0xa5, sizeof(got));
		for (n = 0; n < 2;) {
			ssize_t ret = fi_cq_read(e.cq, got.raw + (size_t)n *
						 bytes[f], (size_t)(2 - n));

			CHECK(ret > 0 || ret == -FI_EAGAIN);
			n += ret > 0 ? (int)ret : 0;
		}
		for (i = 0; i < 2; i++) {
			struct fi_cq_tagged_entry t;

			memcpy(&t, got.raw + (size_t)i * bytes[f], bytes[f]);
			CHECK(t.op_context == &in[i]);
			if (f >= FI_CQ_FORMAT_MSG)
				CHECK_EQ(t.len, 8);
			if (f >= FI_CQ_FORMAT_DATA)
				CHECK_EQ(t.data, 9);
		}
		for (; f < FI_CQ_FORMAT_TAGGED &&
		       (size_t)i < sizeof(got) - 2 * bytes[f]; i++)
			CHECK_EQ(got.raw[2 * bytes[f] + (size_t)i - 2], 0xa5);
		mp_barrier(mp);
		fi_end_close(&e);
	}
	return 0;
}

static void each_format_fills_its_entry_and_no_more(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, format_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(multi_receive_buffers_are_filled_and_released),
		cmocka_unit_test(multi_receive_buffers_take_waiting_messages),
		cmocka_unit_test(injected_data_may_be_overwritten_at_once),
		cmocka_unit_test(delivery_complete_waits_for_the_receive),
		cmocka_unit_test(completions_name_their_source),
		cmocka_unit_test(completions_name_their_source_in_a_table),
		cmocka_unit_test(a_bound_service_is_found_by_name),
		cmocka_unit_test(a_service_is_bound_once),
		cmocka_unit_test(each_format_fills_its_entry_and_no_more),
	};

	fi_end_load();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
