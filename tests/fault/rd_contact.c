/* SPDX-License-Identifier: BSD-2-Clause */
/* RD: a peer that cannot be reached now may be reached later. */
#include <config.h>

#include "tests/proc/rd_lib.h"
#include "util/fault.h"

/* Rank 1 is found by its socket only, and makes no call for a while. */
static int silent(struct mp *mp, int rank, void *arg)
{
	const struct timespec ms10 = { .tv_nsec = 10000000 };
	uint64_t word = 77;
	struct iovec iov = { &word, sizeof(word) };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	struct rosm_rd_event ev;
	struct end e;
	char c;
	int rc;

	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank) {
		mp_recv(mp, 0, &c, 1);
		next_event(&e, &ev);
		CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
		CHECK(ev.payload && !memcmp(ev.payload, &word, sizeof(word)));
		rosm_rd_release(e.rd, &ev);
	} else {
		setenv("ROSM_FAULT", "fail:peer.proc:1+", 1);
		ru_fault_reload();
		/* no call waits for it */
		for (rc = 0; rc < 10000; rc++)
			CHECK_EQ(rosm_rd_send(e.rd, e.peer[1], &msg), -EAGAIN);
		mp_send(mp, 1, "x", 1);
		while ((rc = rosm_rd_send(e.rd, e.peer[1], &msg)) == -EAGAIN)
			nanosleep(&ms10, NULL);
		CHECK_OK(rc);
	}
	mp_barrier(mp);
	end_close(&e);
	return 0;
}

static void a_peer_that_was_silent_is_reached_later(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, silent, "1"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_that_was_silent_is_reached_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
