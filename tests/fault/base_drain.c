/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A deregistration while a peer that this process never mapped, and cannot
 * map at once, names the key in a hazard line.
 */
#include <config.h>

#include <errno.h>
#include <libgen.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/hazard.h"
#include "tests/proc/base.h"
#include "util/fault.h"

enum { KEY = 0x1234, COPY_MS = 300 };

/* Rank 1 is "copying" until it has stored 1 in rank 0's segment. */
static void copy(struct mp *mp, struct rosm_inst *inst, uint64_t owner)
{
	struct rosm_wire_hazard *h = rosm_hazard_line(inst);
	struct rosm_peer *p = base_peer(inst, owner);
	_Atomic uint64_t *done;
	uint64_t off;
	char c;

	rosm_hazard_mr(h, owner, KEY);
	rosm_hazard_barrier(false);
	off = base_swap(mp, 0, 0);
	done = rosm_peer_rw(p, off, 8);
	CHECK(done != NULL);
	base_nap_ms(COPY_MS);
	atomic_store(done, 1);
	rosm_hazard_clear(inst, h);
	mp_recv(mp, 0, &c, 1);		/* no call is made meanwhile */
}

static void drain(struct mp *mp, struct rosm_inst *inst, int copier,
		  const char *fault)
{
	_Atomic uint64_t *done;
	uint64_t off;

	CHECK_OK(ru_shmalloc_get(&inst->rw_heap, 64, 64, &off));
	done = ru_shmalloc_ptr(&inst->rw_heap, off);
	base_swap(mp, copier, off);
	setenv("ROSM_FAULT", fault, 1);
	ru_fault_reload();
	rosm_hazard_drain_mr(inst, KEY);
	CHECK_EQ(atomic_load(done), 1);
	mp_send(mp, copier, "x", 1);
}

static int unmappable(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint64_t other = base_swap(mp, !rank, inst->who);

	if (rank)
		copy(mp, inst, other);
	else
		drain(mp, inst, 1, arg);
	rosm_inst_put(inst);
	return 0;
}

static void a_failed_mapping_is_tried_again(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, unmappable, "fail:peer.alloc:1"), 0);
}

/* An ordinary user: root may look at everybody. */
static void be_nobody(struct mp *mp, bool seen)
{
	enum { NOBODY = 65534 };
	char above[4096];
	struct stat st;

	if (!geteuid()) {
		snprintf(above, sizeof(above), "%s", mp_dir(mp));
		CHECK_OK(stat(dirname(above), &st));
		CHECK_OK(chmod(above, (st.st_mode & 07777) | 0011));
		CHECK_OK(chmod(mp_dir(mp), 0777));
		CHECK_OK(setgid(NOBODY));
		CHECK_OK(setuid(NOBODY));
	}
	CHECK_OK(prctl(PR_SET_DUMPABLE, seen));
}

static int hidden(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst;
	uint64_t other;

	be_nobody(mp, !rank);
	inst = base_open();
	other = base_swap(mp, !rank, inst->who);
	if (rank)
		copy(mp, inst, other);
	else
		drain(mp, inst, 1, arg);
	rosm_inst_put(inst);
	return 0;
}

static void a_hidden_mapper_was_introduced(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, hidden, ""), 0);
}

/* ---- the dead are passed over, their successors are not ---- */

static _Noreturn void die_copying(struct mp *mp, struct rosm_inst *inst,
				  uint64_t owner)
{
	base_peer(inst, owner);
	rosm_hazard_mr(rosm_hazard_line(inst), owner, KEY);
	mp_send(mp, 0, "x", 1);
	mp_kill(mp, 1);
	for (;;)
		pause();
}

static void outlive(struct mp *mp, struct rosm_inst *inst, uint64_t dead)
{
	char c;

	mp_recv(mp, 1, &c, 1);
	CHECK_EQ(mp_recv_timeout(mp, 1, &c, 1, 10000), -EPIPE);
	rosm_hazard_drain_mr(inst, KEY);
	CHECK_EQ(inst->rwh->mapped[0], 0);
	mp_send(mp, 2, "x", 1);
	CHECK_EQ(rosm_wire_who_slot(base_swap(mp, 2, inst->who)),
		 rosm_wire_who_slot(dead));
	drain(mp, inst, 2, "");
}

static int dies(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst;
	uint64_t other;
	char c;

	(void)arg;
	if (rank == 2)		/* takes the slot of rank 1 */
		mp_recv(mp, 0, &c, 1);
	inst = base_open();
	other = base_swap(mp, rank ? 0 : 1, inst->who);
	if (rank == 1)
		die_copying(mp, inst, other);
	if (rank == 2)
		copy(mp, inst, other);
	else
		outlive(mp, inst, other);
	rosm_inst_put(inst);
	return 0;
}

static void a_dead_mapper_is_forgotten_its_successor_is_not(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, dies, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_mapping_is_tried_again),
		cmocka_unit_test(a_hidden_mapper_was_introduced),
		cmocka_unit_test(a_dead_mapper_is_forgotten_its_successor_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
