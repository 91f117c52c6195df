/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who lives and who does not: identities, pidfds, lock bytes.
 */
#include <config.h>

#include "util/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A child that waits to be killed. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(30);
		for (;;)
			pause();
	}
	return pid;
}

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void own_identity_is_complete_and_stable(void **state)
{
	struct ru_proc_id a, b, c;

	(void)state;
	assert_int_equal(ru_proc_self(&a), 0);
	assert_int_equal(a.pid, getpid());
	assert_true(a.boot_hash && a.pidns_ino && a.start_ticks);
	assert_int_equal(ru_proc_self(&b), 0);
	assert_true(ru_proc_equal(&a, &b));
	assert_int_equal(ru_proc_read(getpid(), &c), 0);
	assert_true(ru_proc_equal(&a, &c));
}

static void a_fork_child_is_somebody_else(void **state)
{
	struct ru_proc_id mine, seen, got;
	int fds[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(ru_proc_self(&mine), 0);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		struct ru_proc_id id = { 0 };

		if (ru_proc_self(&id))
			_exit(1);
		_exit(write(fds[1], &id, sizeof(id)) != sizeof(id));
	}
	assert_int_equal(read(fds[0], &got, sizeof(got)), sizeof(got));
	/* Unreaped, it can still be looked at. */
	assert_int_equal(ru_proc_read(pid, &seen), 0);
	assert_true(ru_proc_equal(&got, &seen));
	assert_int_equal(got.pid, pid);
	assert_false(ru_proc_equal(&got, &mine));
	assert_true(ru_proc_same_pidns(&got, &mine));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ru_proc_read(pid, &seen), -ESRCH);
	close(fds[0]);
	close(fds[1]);
}

static void a_name_with_parentheses_does_not_confuse(void **state)
{
	struct ru_proc_id before, after;

	(void)state;
	assert_int_equal(ru_proc_read(getpid(), &before), 0);
	assert_int_equal(prctl(PR_SET_NAME, "x) R 1 2 3 (", 0, 0, 0), 0);
	assert_int_equal(ru_proc_read(getpid(), &after), 0);
	assert_true(ru_proc_equal(&before, &after));
}

static void a_pidfd_tells_death_once_it_happened(void **state)
{
	struct ru_proc_id id;
	pid_t pid = sleeper();
	int fd;

	(void)state;
	assert_int_equal(ru_proc_read(pid, &id), 0);
	fd = ru_proc_open(&id);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(ru_pidfd_is_dead(fd), 0);
	end(pid);
	assert_int_equal(ru_pidfd_is_dead(fd), 1);
	close(fd);
	assert_int_equal(ru_pidfd_is_dead(fd), -EBADF);
}

static void an_identity_that_is_gone_or_foreign_opens_nothing(void **state)
{
	struct ru_proc_id id, other;
	pid_t pid = sleeper();

	(void)state;
	assert_int_equal(ru_proc_read(pid, &id), 0);
	other = id;
	other.start_ticks--;		/* who had the number before */
	assert_int_equal(ru_proc_open(&other), -ESRCH);
	other = id;
	other.pidns_ino++;
	assert_int_equal(ru_proc_open(&other), -EXDEV);
	other = id;
	other.boot_hash++;
	assert_int_equal(ru_proc_open(&other), -EXDEV);
	other = id;
	other.pid = 0;
	assert_int_equal(ru_proc_open(&other), -ESRCH);
	end(pid);
	assert_int_equal(ru_proc_open(&id), -ESRCH);
	assert_int_equal(ru_proc_read(-1, &id), -EINVAL);
}

static void a_lock_byte_is_held_until_its_holder_dies(void **state)
{
	FILE *file = tmpfile();
	int fd = fileno(file);
	int fds[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(ru_lockbyte_held(fd, 1000), 0);
	pid = fork();
	if (!pid) {
		alarm(30);
		if (ru_lockbyte_take(fd, 1000))
			_exit(1);
		if (write(fds[1], "x", 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	assert_int_equal(ru_lockbyte_held(fd, 1000), 1);
	assert_int_equal(ru_lockbyte_held(fd, 999), 0);
	assert_int_equal(ru_lockbyte_held(fd, 1001), 0);
	assert_int_equal(ru_lockbyte_take(fd, 1000), -EAGAIN);
	assert_int_equal(ru_lockbyte_take(fd, 1001), 0);
	end(pid);
	assert_int_equal(ru_lockbyte_held(fd, 1000), 0);
	assert_int_equal(ru_lockbyte_take(fd, 1000), 0);
	assert_int_equal(ru_lockbyte_take(fd, 1000), 0);
	close(fds[0]);
	close(fds[1]);
	fclose(file);
}

static void own_lock_bytes_are_not_inherited_and_can_be_dropped(void **state)
{
	FILE *file = tmpfile();
	int fd = fileno(file);
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(ru_lockbyte_take(fd, 5), 0);
	assert_int_equal(ru_lockbyte_held(fd, 5), 0);	/* not by another */
	pid = fork();
	if (!pid)
		_exit(ru_lockbyte_held(fd, 5) != 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ru_lockbyte_drop(fd, 5), 0);
	pid = fork();
	if (!pid)
		_exit(ru_lockbyte_take(fd, 5));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ru_lockbyte_held(-1, 5), -EBADF);
	fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_identity_is_complete_and_stable),
		cmocka_unit_test(a_fork_child_is_somebody_else),
		cmocka_unit_test(a_name_with_parentheses_does_not_confuse),
		cmocka_unit_test(a_pidfd_tells_death_once_it_happened),
		cmocka_unit_test(
			an_identity_that_is_gone_or_foreign_opens_nothing),
		cmocka_unit_test(a_lock_byte_is_held_until_its_holder_dies),
		cmocka_unit_test(
			own_lock_bytes_are_not_inherited_and_can_be_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
