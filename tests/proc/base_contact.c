/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contact by socket: two processes that are not dumpable, so that neither can
 * open the other's /proc/PID/fd. As root they become nobody first, since root
 * may open everything.
 */
#include <config.h>

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "engine/presence.h"
#include "tests/proc/base.h"

enum { NOBODY = 65534 };

static void hide(struct mp *mp)
{
	char above[4096];
	struct stat st;

	if (!geteuid()) {
		/* both folders are this test's own */
		snprintf(above, sizeof(above), "%s", mp_dir(mp));
		CHECK_OK(stat(dirname(above), &st));
		CHECK_OK(chmod(above, (st.st_mode & 07777) | 0011));
		CHECK_OK(chmod(mp_dir(mp), 0777));
		CHECK_OK(setgid(NOBODY));
		CHECK_OK(setuid(NOBODY));
	}
	CHECK_OK(prctl(PR_SET_DUMPABLE, 0));
}

static struct rosm_inst *open_hidden(struct mp *mp)
{
	hide(mp);
	return base_open();
}

/* Rank 1 only makes calls, as a program does that polls. */
static int asks(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = open_hidden(mp);
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct rosm_peer *p = NULL;
	char c = 0;

	(void)arg;
	if (rank) {
		while (mp_recv_timeout(mp, 0, &c, 1, 1) == -ETIMEDOUT)
			rosm_peers_watch(inst);
		/* it asked, hence is known here without asking */
		p = rosm_peer_find(inst, other);
		CHECK(p != NULL);
		CHECK(p->no_proc);
		mp_barrier(mp);
		rosm_inst_put(inst);
		return 0;
	}
	p = base_peer(inst, other);
	CHECK(p->no_proc);
	CHECK_EQ(p->pid, mp_pid(mp, 1));
	CHECK_EQ(p->roh->who, other);
	CHECK(!rosm_peer_is_dead(p));
	mp_send(mp, 1, &c, 1);
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

static int both_ask(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = open_hidden(mp);
	uint64_t other = base_swap(mp, !rank, inst->who);

	(void)arg;
	mp_barrier(mp);
	CHECK_EQ(base_peer(inst, other)->roh->who, other);
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

static int no_answer(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = open_hidden(mp);
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct rosm_peer *p = NULL;

	char c = 0;
	int i;

	(void)arg;
	if (rank) {
		mp_recv(mp, 0, &c, 1);
		while (mp_recv_timeout(mp, 0, &c, 1, 1) == -ETIMEDOUT)
			rosm_peers_watch(inst);
	} else {
		/* nobody waits for it */
		for (i = 0; i < 10000; i++)
			CHECK_EQ(rosm_peer_get(inst, other, &p), -EAGAIN);
		mp_send(mp, 1, &c, 1);
		CHECK_EQ(base_peer(inst, other)->roh->who, other);
		mp_send(mp, 1, &c, 1);
	}
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

static int dies_unasked(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = open_hidden(mp);
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct rosm_peer *p = NULL;
	int rc;

	(void)arg;
	if (rank) {
		mp_expect_signal(mp, 1, SIGKILL);
		base_nap_ms(200);
		raise(SIGKILL);
	}
	CHECK_EQ(rosm_peer_get(inst, other, &p), -EAGAIN);
	while ((rc = rosm_peer_get(inst, other, &p)) == -EAGAIN)
		base_nap_ms(1);
	CHECK_EQ(rc, -ECONNABORTED);
	rosm_inst_put(inst);
	return 0;
}

/* The peer sleeps on its epoll descriptor: a bell wakes it. */
static int bell(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = open_hidden(mp);
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct pollfd pfd = { .fd = inst->watch_fd, .events = POLLIN };

	(void)arg;
	base_peer(inst, other);		/* both ask */
	rosm_peers_watch_now(inst);
	if (rank) {
		inst->roh->bell_fd[3] = 1;
		mp_barrier(mp);
		CHECK_EQ(poll(&pfd, 1, 5000), 1);
		rosm_peers_watch_now(inst);
		CHECK_EQ(poll(&pfd, 1, 0), 0);
	} else {
		mp_barrier(mp);
		base_nap_ms(50);
		rosm_peer_ring_bell(base_peer(inst, other), 3);
	}
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

#define IN_WORKERS(name, n, fn)						\
	static void name(void **state)					\
	{								\
		(void)state;						\
		assert_int_equal(mp_run(n, fn, NULL), 0);		\
	}

IN_WORKERS(a_hidden_peer_answers_in_its_next_call, 2, asks)
IN_WORKERS(two_may_ask_each_other_at_once, 2, both_ask)
IN_WORKERS(who_makes_no_call_is_not_waited_for, 2, no_answer)
IN_WORKERS(who_dies_meanwhile_is_dead, 2, dies_unasked)
IN_WORKERS(a_bell_wakes_a_hidden_peer, 2, bell)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hidden_peer_answers_in_its_next_call),
		cmocka_unit_test(two_may_ask_each_other_at_once),
		cmocka_unit_test(who_makes_no_call_is_not_waited_for),
		cmocka_unit_test(who_dies_meanwhile_is_dead),
		cmocka_unit_test(a_bell_wakes_a_hidden_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
