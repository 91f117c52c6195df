/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RD: the program closes every descriptor that it did not open, and opens
 * files of its own, which get the numbers.
 */
#include <config.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/directory.h"
#include "engine/ctx.h"
#include "engine/rd.h"
#include "tests/proc/rd_lib.h"

enum { FDS = 1024 };

static void list_fds(bool open[FDS])
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int fd;

	CHECK(d != NULL);
	memset(open, 0, FDS * sizeof(open[0]));
	while ((e = readdir(d))) {
		fd = atoi(e->d_name);
		if (*e->d_name != '.' && fd < FDS && fd != dirfd(d))
			open[fd] = true;
	}
	closedir(d);
}

/* Those that were not there before; each number is then a file of ours. */
static void take_over(const bool before[FDS], bool mine[FDS])
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd, ready[2], ep;

	list_fds(mine);
	for (fd = 0; fd < FDS; fd++) {
		mine[fd] &= !before[fd];
		if (mine[fd])
			close(fd);
	}
	/* one of them an epoll that has an event, with a strange pointer */
	CHECK_OK(pipe(ready));
	CHECK_EQ(write(ready[1], "x", 1), 1);
	ev.data.u64 = 0xdeadbeef;
	ep = epoll_create1(0);
	CHECK_OK(epoll_ctl(ep, EPOLL_CTL_ADD, ready[0], &ev));
	for (fd = 0; fd < FDS; fd++) {
		int got;

		if (!mine[fd] || fd == ready[0] || fd == ready[1] || fd == ep)
			continue;
		got = memfd_create("theirs", 0);
		CHECK_GE(got, 0);
		if (got == fd)
			continue;
		CHECK_EQ(dup2(got, fd), fd);
		close(got);
	}
}

/* Nobody wrote into them or closed them. */
static void check_taken_over(const bool mine[FDS])
{
	struct stat st;
	int fd;

	for (fd = 0; fd < FDS; fd++) {
		if (!mine[fd])
			continue;
		CHECK_OK(fstat(fd, &st));
		CHECK_EQ(st.st_size, 0);
		CHECK_EQ(st.st_blocks, 0);
	}
}

static void ask(struct end *e, uint32_t flags)
{
	uint64_t word = 3;
	struct iovec iov = { &word, sizeof(word) };
	struct rosm_rd_msg msg = {
		.flags = flags, .iov = &iov, .iov_count = 1,
	};

	CHECK_EQ(rosm_rd_send(e->rd, e->peer[!e->rank], &msg),
		 flags ? ROSM_RD_PENDING : 0);
}

static void closes(struct end *e, const bool before[FDS], const char *cma)
{
	struct rosm_rd_msg msg = { .iov_count = 0 };
	bool mine[FDS];
	struct rosm_rd_event ev;

	ask(e, ROSM_RD_ACK);
	take_over(before, mine);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_SENT);
	CHECK_EQ(ev.status, -ECONNABORTED);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_PEER_DEAD);
	CHECK_EQ(rosm_rd_send(e->rd, e->peer[0], &msg), -ECONNABORTED);
	CHECK(rosm_inst_is_lost(e->ctx->inst));
	mp_send(e->mp, 0, "x", 1);
	end_close(e);
	check_taken_over(mine);

	/* a new beginning is possible */
	end_open(e, e->mp, 1, cma, 0);
	CHECK(!rosm_inst_is_lost(e->ctx->inst));
	end_meet(e);
	ask(e, 0);
	mp_barrier(e->mp);
	end_close(e);
	check_taken_over(mine);
}

static void sees_it(struct end *e)
{
	struct rosm_rd_peer *old = e->peer[1];
	struct rosm_rd_event ev;
	char c;

	mp_recv(e->mp, 1, &c, 1);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
	rosm_rd_release(e->rd, &ev);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_PEER_DEAD);
	CHECK(ev.peer == old);
	end_meet(e);
	CHECK(e->peer[1] != old);
	next_event(e, &ev);
	CHECK_EQ(ev.type, ROSM_RD_EV_MSG);
	CHECK(ev.peer == e->peer[1]);
	rosm_rd_release(e->rd, &ev);
	mp_barrier(e->mp);
	end_close(e);
}

static int closed(struct mp *mp, int rank, void *arg)
{
	bool before[FDS];
	struct end e;

	list_fds(before);
	end_open(&e, mp, rank, arg, 0);
	end_meet(&e);
	if (rank)
		closes(&e, before, arg);
	else
		sees_it(&e);
	return 0;
}

static void who_closes_all_descriptors_fails_cleanly(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, closed, "1"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_closes_all_descriptors_fails_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
