/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thousand processes that crash with an instance, a QPN and a name: the
 * directory does not grow, and its slots and keys are used again.
 */
#include <config.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "engine/rosm.h"
#include "tests/proc/base.h"

enum { CRASHES = 1000, AT_ONCE = 4 };

static uint32_t seen_index[CRASHES];

static void crash(int fd, uint32_t name)
{
	struct rosm_inst *inst = base_open();
	struct { uint32_t slot, qpn; } say;

	CHECK_OK(rosm_dir_new_qpn(inst->dir, inst->who, 0, &say.qpn));
	CHECK_OK(rosm_dir_insert(inst->dir, ROSM_DIR_T_NAME, name, inst->who,
				 0));
	say.slot = inst->slot;
	CHECK_EQ(write(fd, &say, sizeof(say)), sizeof(say));
	raise(SIGKILL);
}

static void stat_dir(struct stat *st)
{
	char path[4096];

	CHECK_OK(rosm_dir_path(path, sizeof(path)));
	CHECK_OK(stat(path, st));
}

static int crashes(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	struct stat first, last;
	struct { uint32_t slot, qpn; } said;
	pid_t pid[AT_ONCE];
	int pipefd[2], i, j, status;

	(void)mp, (void)rank, (void)arg;
	CHECK_OK(pipe(pipefd));
	for (i = 0; i < CRASHES; i += AT_ONCE) {
		for (j = 0; j < AT_ONCE; j++) {
			pid[j] = fork();
			CHECK_GE(pid[j], 0);
			if (!pid[j])
				crash(pipefd[1], (uint32_t)j * 100);
		}
		for (j = 0; j < AT_ONCE; j++) {
			CHECK_EQ(waitpid(pid[j], &status, 0), pid[j]);
			CHECK(WIFSIGNALED(status));
			CHECK_EQ(read(pipefd[0], &said, sizeof(said)),
				 sizeof(said));
			CHECK_LE(said.slot, AT_ONCE);
			seen_index[i + j] = said.qpn & (ROSM_DIR_QPNS - 1);
			CHECK_LE(seen_index[i + j], 2 + AT_ONCE);
		}
		if (!i)
			stat_dir(&first);
	}
	stat_dir(&last);
	CHECK_EQ(first.st_size, ROSM_DIR_SIZE);
	CHECK_EQ(last.st_size, first.st_size);
	CHECK_EQ(last.st_blocks, first.st_blocks);
	CHECK_LE(last.st_blocks, ROSM_DIR_SIZE / 512 + 8);
	rosm_inst_put(inst);
	return 0;
}

static void a_thousand_crashes_leave_nothing(void **state)
{
	struct mp *mp = mp_start(1, crashes, NULL);

	(void)state;
	mp_deadline(mp, 100);
	assert_int_equal(mp_finish(mp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thousand_crashes_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
