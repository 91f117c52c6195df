/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that share ROSM_DIR and have no way to each other at all: what is
 * sent fails, the way it does towards a machine that is off; one line says
 * why; nobody waits long.
 */
#include <config.h>

#include "tests/proc/rd_lib.h"

#include "tests/proc/denied.h"
#define DENIED_TABLE refused
#include "tests/proc/denied_main.h"
#include "tests/proc/rcpair.h"

enum { SOON_MS = 3000 };

/* The second line after the first: nothing is said or waited for again. */
static void rc_fails(struct mp *mp, int rank, struct rcpair *p)
{
	struct rcpair_how how = { .rnr_retry = 7, .timeout = 14 };
	struct {
		uint32_t qpn;
		uint16_t lid;
		uint16_t reserved;
	} mine = { 0 }, theirs;
	struct rosm_port port;
	struct rosm_wc wc;

	rcpair_open(p, &how);
	CHECK_OK(rosm_ctx_query_port(p->ctx, &port));
	mine.qpn = rosm_qp_num(p->qp);
	mine.lid = port.lid;
	mp_send(mp, !rank, &mine, sizeof(mine));
	mp_recv(mp, !rank, &theirs, sizeof(theirs));
	how.dlid = theirs.lid;
	rcpair_to_rts(p, theirs.qpn, &how);
	rcpair_recv(p, 1, 0, 64);
	rcpair_send(p, 2, 64, 100, ROSM_SEND_SIGNALED);
	CHECK(rcpair_poll(p, &wc, SOON_MS));
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(wc.status, ROSM_WC_RETRY_EXC_ERR);
	rcpair_expect(p, 1, ROSM_WC_WR_FLUSH_ERR);
}

static void rd_fails(struct mp *mp, int rank)
{
	uint64_t word = 1, start = mp_now_ns();
	struct iovec iov = { &word, sizeof(word) };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct end e;
	int i, rc;

	end_open(&e, mp, rank, "1", 0);
	end_meet(&e);
	while ((rc = rosm_rd_send(e.rd, e.peer[!rank], &msg)) == -EAGAIN)
		CHECK_EQ(rosm_rd_poll(e.rd, &ev), 0);
	CHECK_EQ(rc, -EHOSTUNREACH);
	for (i = 0; i < 1000; i++)
		CHECK_EQ(rosm_rd_send(e.rd, e.peer[!rank], &msg),
			 -EHOSTUNREACH);
	CHECK_EQ(rosm_rd_peer_contact(e.rd, e.peer[!rank]), -EHOSTUNREACH);
	CHECK_LT((mp_now_ns() - start) / 1000000, SOON_MS * denied_slower());
	mp_barrier(mp);
	end_close(&e);
}

static int both(struct mp *mp, int rank, const struct denied_case *c)
{
	struct rcpair p;

	denied_watch_lines();
	rc_fails(mp, rank, &p);
	rd_fails(mp, rank);
	denied_check_refusal(rank, c);
	rcpair_close(&p);
	return 0;
}

static void what_is_sent_fails_and_one_line_says_why(void **state)
{
	DENIED_EACH(state, both);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_fails_and_one_line_says_why),
	};

	return denied_main(argc, argv) ? 77 :
		cmocka_run_group_tests(tests, NULL, NULL);
}
