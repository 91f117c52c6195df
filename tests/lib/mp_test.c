/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The helper of the multi-process tests, tested: above all that it cannot miss
 * a failure. Groups that are meant to fail say so on stderr.
 */
#include <config.h>

#include "tests/lib/mp.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "tests/lib/assert.h"

enum { BIG = 3 << 20 };

static int ring(struct mp *mp, int rank, void *arg)
{
	int n = mp_size(mp), next = (rank + 1) % n, prev = (rank + n - 1) % n;
	int hop, token = rank, got;

	(void)arg;
	for (hop = 0; hop < 100; hop++) {
		mp_send(mp, next, &token, sizeof(token));
		CHECK_EQ(mp_recv(mp, prev, &got, sizeof(got)), sizeof(got));
		CHECK_EQ(got, (rank + n - 1 - hop % n + n) % n);
		token = got;
	}
	mp_barrier(mp);
	return 0;
}

static int echo_big(struct mp *mp, int rank, void *arg)
{
	char *buf = malloc(BIG);

	(void)rank;
	(void)arg;
	CHECK(buf != NULL);
	CHECK_EQ(mp_recv(mp, MP_PARENT, buf, BIG), BIG);
	mp_send(mp, MP_PARENT, buf, BIG);
	free(buf);
	return 0;
}

static int rank1_checks_falsely(struct mp *mp, int rank, void *arg)
{
	char c;

	(void)arg;
	if (rank == 1)
		CHECK_EQ(1 + 1, 3);
	mp_recv(mp, 1, &c, 1);
	return 0;
}

static int rank1_returns_five(struct mp *mp, int rank, void *arg)
{
	(void)mp;
	(void)arg;
	return rank == 1 ? 5 : 0;
}

static int rank1_aborts(struct mp *mp, int rank, void *arg)
{
	(void)mp;
	(void)arg;
	if (rank == 1)
		abort();
	return 0;
}

static int wait_for_ever(struct mp *mp, int rank, void *arg)
{
	char c;

	(void)rank;
	(void)arg;
	mp_recv(mp, MP_PARENT, &c, 1);
	return 0;
}

static int rank0_kills_rank1(struct mp *mp, int rank, void *arg)
{
	char c;

	(void)arg;
	if (rank == 1)
		for (;;)
			pause();
	mp_stop(mp, 1);
	CHECK_EQ(mp_recv_timeout(mp, 1, &c, 1, 10), -ETIMEDOUT);
	mp_cont(mp, 1);
	mp_kill(mp, 1);
	CHECK_EQ(mp_recv_timeout(mp, 1, &c, 1, 5000), -EPIPE);
	return 0;
}

static int make_file(struct mp *mp, int rank, void *arg)
{
	char path[128];
	FILE *f;

	(void)rank;
	(void)arg;
	CHECK_STR(getenv("ROSM_DIR"), mp_dir(mp));
	snprintf(path, sizeof(path), "%s/file", mp_dir(mp));
	f = fopen(path, "w");
	CHECK(f != NULL);
	fclose(f);
	return 0;
}

static int make_file_and_wait(struct mp *mp, int rank, void *arg)
{
	char c = 0;

	make_file(mp, rank, arg);
	mp_send(mp, MP_PARENT, &c, 1);
	return wait_for_ever(mp, rank, arg);
}

static void tokens_go_round_between_workers(void **state)
{
	(void)state;
	assert_int_equal(mp_run(4, ring, NULL), 0);
}

static void large_blob_passes_both_ways(void **state)
{
	struct mp *mp = mp_start(1, echo_big, NULL);
	char *out = malloc(BIG), *in = calloc(1, BIG);
	size_t i;

	(void)state;
	for (i = 0; i < BIG; i++)
		out[i] = (char)(i * 7 >> 3);
	mp_send(mp, 0, out, BIG);
	assert_int_equal(mp_recv(mp, 0, in, BIG), BIG);
	assert_memory_equal(in, out, BIG);
	assert_int_equal(mp_finish(mp), 0);
	free(out);
	free(in);
}

static void failed_check_of_one_worker_fails_the_group(void **state)
{
	(void)state;
	assert_int_equal(mp_run(3, rank1_checks_falsely, NULL), -1);
}

static void nonzero_return_of_one_worker_fails_the_group(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, rank1_returns_five, NULL), -1);
}

static void unannounced_signal_fails_the_group(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, rank1_aborts, NULL), -1);
}

static void announced_signal_is_no_failure(void **state)
{
	struct mp *mp = mp_start(2, rank1_aborts, NULL);

	(void)state;
	mp_expect_signal(mp, 1, SIGABRT);
	assert_int_equal(mp_finish(mp), 0);
}

static void announced_signal_that_does_not_come_is_a_failure(void **state)
{
	struct mp *mp = mp_start(1, wait_for_ever, NULL);

	(void)state;
	mp_expect_signal(mp, 0, SIGKILL);
	mp_send(mp, 0, "x", 1);
	assert_int_equal(mp_finish(mp), -1);
}

static void worker_can_stop_and_kill_another(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, rank0_kills_rank1, NULL), 0);
}

static void waited_worker_is_judged_by_the_caller(void **state)
{
	struct mp *mp = mp_start(2, rank1_returns_five, NULL);
	int status = mp_wait(mp, 1);

	(void)state;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(mp_finish(mp), 0);
}

static void private_directory_is_removed(void **state)
{
	char *before = getenv("ROSM_DIR") ? strdup(getenv("ROSM_DIR")) : NULL;
	struct mp *mp = mp_start(1, make_file, NULL);
	char *dir = strdup(mp_dir(mp));
	struct stat st;

	(void)state;
	assert_int_equal(mp_finish(mp), 0);
	assert_int_equal(stat(dir, &st), -1);
	if (before)
		assert_string_equal(getenv("ROSM_DIR"), before);
	else
		assert_null(getenv("ROSM_DIR"));
	free(before);
	free(dir);
}

/* The deadline ends the whole program, so a child has to be the parent. */
static void deadline_kills_all_and_fails(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct mp *mp = mp_start(2, wait_for_ever, NULL);

		mp_stop(mp, 1);
		mp_deadline(mp, 1);
		_exit(mp_finish(mp) ? 3 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

/* The directory of a group whose program is over goes a moment later. */
static void program_that_is_killed_leaves_no_directory(void **state)
{
	char dir[256] = "";
	struct stat st;
	int status, fd[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct mp *mp = mp_start(2, make_file_and_wait, NULL);
		char c;

		mp_recv(mp, 0, &c, 1);
		mp_recv(mp, 1, &c, 1);
		if (write(fd[1], mp_dir(mp), strlen(mp_dir(mp))) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(read(fd[0], dir, sizeof(dir) - 1) > 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (!stat(dir, &st))
		usleep(1000);
	assert_int_equal(errno, ENOENT);
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens_go_round_between_workers),
		cmocka_unit_test(large_blob_passes_both_ways),
		cmocka_unit_test(failed_check_of_one_worker_fails_the_group),
		cmocka_unit_test(nonzero_return_of_one_worker_fails_the_group),
		cmocka_unit_test(unannounced_signal_fails_the_group),
		cmocka_unit_test(announced_signal_is_no_failure),
		cmocka_unit_test(announced_signal_that_does_not_come_is_a_failure),
		cmocka_unit_test(worker_can_stop_and_kill_another),
		cmocka_unit_test(waited_worker_is_judged_by_the_caller),
		cmocka_unit_test(private_directory_is_removed),
		cmocka_unit_test(deadline_kills_all_and_fails),
		cmocka_unit_test(program_that_is_killed_leaves_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
