/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments: sealed, sparse, committed before use, and refused when they are
 * not what they should be. Children that must not disturb the test's own limits
 * and signals do the odd things.
 */
#include <config.h>

#include "util/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB	((size_t)1 << 20)

static struct ru_shm shm;

static int setup(void **state)
{
	(void)state;
	return ru_shm_create(&shm, "rosm-test", 64 * MIB, 64 * MIB, 0);
}

static int teardown(void **state)
{
	(void)state;
	ru_shm_fini(&shm);
	return 0;
}

static size_t blocks_bytes(void)
{
	struct stat st;

	assert_int_equal(fstat(shm.fd, &st), 0);
	return (size_t)st.st_blocks * 512;
}

/* Runs fn in a child; its status as waitpid() gives it. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	assert_true(pid >= 0);
	if (!pid) {
		alarm(20);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void a_new_segment_is_zero_and_costs_nothing(void **state)
{
	(void)state;
	assert_int_equal(shm.size, 64 * MIB);
	assert_int_equal(blocks_bytes(), 0);
	assert_true(ru_shm_fd_is_ours(&shm));
	assert_int_equal(ru_shm_commit(&shm, 0, 1), 0);
	assert_int_equal(blocks_bytes(), ru_page_size());
	assert_int_equal(*(char *)shm.base, 0);
}

static void nobody_can_resize_it(void **state)
{
	(void)state;
	assert_int_not_equal(ftruncate(shm.fd, 4096), 0);
	assert_int_not_equal(ftruncate(shm.fd, (off_t)(128 * MIB)), 0);
	assert_int_not_equal(fcntl(shm.fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
}

static void commit_rounds_outwards_and_keeps_content(void **state)
{
	size_t page = ru_page_size();
	char *p = shm.base;

	(void)state;
	assert_int_equal(ru_shm_commit(&shm, page - 1, 2), 0);
	assert_int_equal(blocks_bytes(), 2 * page);
	p[page] = 5;
	assert_int_equal(ru_shm_commit(&shm, 0, 20 * MIB), 0);
	assert_int_equal(blocks_bytes(), 20 * MIB);
	assert_int_equal(p[page], 5);
	assert_int_equal(ru_shm_commit(&shm, 64 * MIB, 1), -EINVAL);
	assert_int_equal(ru_shm_commit(&shm, 1, SIZE_MAX), -EINVAL);
}

static void release_gives_inner_pages_back_as_zero(void **state)
{
	size_t page = ru_page_size();
	char *p = shm.base;

	(void)state;
	assert_int_equal(ru_shm_commit(&shm, 0, 4 * page), 0);
	memset(p, 7, 4 * page);
	assert_int_equal(ru_shm_release(&shm, 1, 3 * page - 1), 0);
	assert_int_equal(blocks_bytes(), 2 * page);
	assert_int_equal(p[page - 1], 7);
	assert_int_equal(p[page], 0);
	assert_int_equal(p[3 * page - 1], 0);
	assert_int_equal(p[3 * page], 7);
	assert_int_equal(ru_shm_release(&shm, 65 * MIB, 1), -EINVAL);
}

static void two_mappings_show_the_same_bytes(void **state)
{
	struct ru_shm peer = RU_SHM_NONE;

	(void)state;
	assert_int_equal(ru_shm_commit(&shm, 0, 4096), 0);
	assert_int_equal(ru_shm_attach(&peer, shm.fd, &shm.id, shm.size, 0),
			 0);
	strcpy(peer.base, "hello");
	assert_string_equal(shm.base, "hello");
	assert_int_equal(peer.fd, -1);
	ru_shm_fini(&peer);
}

static void peers_only_read_the_read_only_kind(void **state)
{
	struct ru_shm own = RU_SHM_NONE, peer = RU_SHM_NONE;

	(void)state;
	assert_int_equal(ru_shm_create(&own, "rosm-ro", MIB, MIB,
				       RU_SHM_PEERS_READ), 0);
	assert_int_equal(ru_shm_commit(&own, 0, 4096), 0);
	strcpy(own.base, "mine");
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
			      own.fd, 0), MAP_FAILED);
	assert_true(pwrite(own.fd, "x", 1, 0) < 0);
	assert_int_equal(ru_shm_attach(&peer, own.fd, NULL, 0, 0), -EPERM);
	assert_int_equal(ru_shm_attach(&peer, own.fd, NULL, 0,
				       RU_SHM_PEERS_READ), 0);
	assert_string_equal(peer.base, "mine");
	assert_int_not_equal(mprotect(peer.base, 4096,
				      PROT_READ | PROT_WRITE), 0);
	((char *)own.base)[0] = 'M';
	assert_string_equal(peer.base, "Mine");
	assert_int_equal(ru_shm_release(&own, 0, 4096), -EPERM);
	ru_shm_fini(&peer);
	ru_shm_fini(&own);
}

static void the_writable_kind_is_no_read_only_segment(void **state)
{
	struct ru_shm peer = RU_SHM_NONE;

	(void)state;
	assert_int_equal(ru_shm_attach(&peer, shm.fd, NULL, 0,
				       RU_SHM_PEERS_READ), -EPERM);
}

static int attach_fd(int fd)
{
	struct ru_shm peer = RU_SHM_NONE;
	int rc = ru_shm_attach(&peer, fd, NULL, 0, 0);

	ru_shm_fini(&peer);
	return rc;
}

static void what_is_not_a_sealed_memfd_is_refused(void **state)
{
	FILE *file = tmpfile();
	int fd, fds[2];

	(void)state;
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), 4096), 0);
	assert_int_equal(attach_fd(fileno(file)), -EINVAL);
	fclose(file);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(attach_fd(fds[0]), -EINVAL);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(attach_fd(-1), -EBADF);

	fd = memfd_create("bare", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(attach_fd(fd), -EINVAL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(attach_fd(fd), -EINVAL);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	assert_int_equal(attach_fd(fd), 0);
	close(fd);

	fd = memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW),
			 0);
	assert_int_equal(attach_fd(fd), -EINVAL);
	close(fd);
}

static void another_identity_or_size_is_stale(void **state)
{
	struct ru_shm peer = RU_SHM_NONE;
	struct ru_shm_id id = shm.id;

	(void)state;
	id.ino++;
	assert_int_equal(ru_shm_attach(&peer, shm.fd, &id, 0, 0), -ESTALE);
	assert_int_equal(ru_shm_attach(&peer, shm.fd, &shm.id, MIB, 0),
			 -ESTALE);
}

/* With the default action of SIGXFSZ: it would kill. */
static int create_under_file_limit(void)
{
	struct rlimit limit = { .rlim_cur = 8 * MIB, .rlim_max = 8 * MIB };
	struct ru_shm s = RU_SHM_NONE;
	sigset_t pending;

	signal(SIGXFSZ, SIG_DFL);
	if (setrlimit(RLIMIT_FSIZE, &limit))
		return 1;
	if (ru_shm_create(&s, "small", 64 * MIB, 64 * MIB, 0) != -EFBIG)
		return 2;
	if (ru_shm_create(&s, "small", 64 * MIB, MIB, 0))
		return 3;
	if (s.size != 8 * MIB)
		return 4;
	if (ru_shm_commit(&s, 0, s.size))
		return 5;
	memset(s.base, 1, s.size);
	ru_shm_fini(&s);
	limit.rlim_cur = 100;
	if (setrlimit(RLIMIT_FSIZE, &limit))
		return 6;
	if (ru_shm_create(&s, "none", MIB, 1, 0) != -EFBIG)
		return 7;
	sigpending(&pending);
	return sigismember(&pending, SIGXFSZ) ? 8 : 0;
}

static void the_file_limit_shrinks_a_segment_and_never_kills(void **state)
{
	(void)state;
	assert_int_equal(in_child(create_under_file_limit), 0);
}

#ifndef ROSM_SANITIZED	/* which reserves terabytes of address space */
static int create_under_address_limit(void)
{
	struct rlimit limit = { .rlim_cur = 256 * MIB, .rlim_max = 256 * MIB };
	struct ru_shm s = RU_SHM_NONE;

	if (setrlimit(RLIMIT_AS, &limit))
		return 1;
	if (ru_shm_create(&s, "narrow", 1024 * MIB, 1024 * MIB, 0) != -ENOMEM)
		return 2;
	if (ru_shm_create(&s, "narrow", 1024 * MIB, 16 * MIB, 0))
		return 3;
	return s.size >= 16 * MIB && s.size < 256 * MIB ? 0 : 4;
}

static void the_address_space_limit_shrinks_a_segment(void **state)
{
	(void)state;
	assert_int_equal(in_child(create_under_address_limit), 0);
}
#endif

static int look_at_parents_mapping(void)
{
	unsigned char vec;

	/* ENOMEM: nothing is mapped there. */
	if (!mincore(shm.base, 1, &vec) || errno != ENOMEM)
		return 1;
	ru_shm_fini_child(&shm);
	return shm.fd == -1 && !shm.base ? 0 : 2;
}

static void a_fork_child_has_no_mapping(void **state)
{
	(void)state;
	assert_int_equal(in_child(look_at_parents_mapping), 0);
	assert_true(ru_shm_fd_is_ours(&shm));
}

static void a_closed_descriptor_is_noticed_and_not_needed(void **state)
{
	char *p = shm.base;
	struct stat before, after;
	int other;

	(void)state;
	close(shm.fd);
	other = open("/dev/null", O_RDWR);
	assert_int_equal(other, shm.fd);
	assert_false(ru_shm_fd_is_ours(&shm));
	assert_int_equal(fstat(other, &before), 0);
	assert_int_equal(ru_shm_commit(&shm, 0, 8192), 0);
	memset(p, 3, 8192);
	assert_int_equal(ru_shm_release(&shm, 0, 4096), 0);
	assert_int_equal(p[0], 0);
	assert_int_equal(p[4096], 3);
	ru_shm_fini(&shm);
	assert_int_equal(fstat(other, &after), 0);
	close(other);
}

static void bad_arguments_are_refused(void **state)
{
	struct ru_shm s = RU_SHM_NONE;

	(void)state;
	assert_int_equal(ru_shm_create(&s, "x", 0, 0, 0), -EINVAL);
	assert_int_equal(ru_shm_create(&s, "x", 1, 2, 0), -EINVAL);
	assert_int_equal(ru_shm_create(&s, "x", 1, 1, 8), -EINVAL);
	assert_int_equal(s.fd, -1);
	ru_shm_fini(&s);
}

int main(void)
{
#define T(name)	cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_new_segment_is_zero_and_costs_nothing),
		T(nobody_can_resize_it),
		T(commit_rounds_outwards_and_keeps_content),
		T(release_gives_inner_pages_back_as_zero),
		T(two_mappings_show_the_same_bytes),
		T(peers_only_read_the_read_only_kind),
		T(the_writable_kind_is_no_read_only_segment),
		T(what_is_not_a_sealed_memfd_is_refused),
		T(another_identity_or_size_is_stale),
		T(the_file_limit_shrinks_a_segment_and_never_kills),
#ifndef ROSM_SANITIZED	/* which reserves terabytes of address space */
		T(the_address_space_limit_shrinks_a_segment),
#endif
		T(a_fork_child_has_no_mapping),
		T(a_closed_descriptor_is_noticed_and_not_needed),
		T(bad_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
