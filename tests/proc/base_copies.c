/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two engine copies in one process (base_dso.c, built twice): one process
 * block, one descriptor of the directory, two instances that meet as local
 * peers; and what a fork child and another process see of them.
 */
#include <config.h>

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "engine/process.h"
#include "tests/proc/base.h"

#ifndef BASE_DSO_DIR
#error "where the two objects are"
#endif

struct copy {
	struct rosm_process *(*process)(void);
	int (*open)(struct rosm_inst **inst_out);
	void (*close)(struct rosm_inst *inst);
	struct rosm_inst *(*current)(void);
	int (*peer)(struct rosm_inst *inst, uint64_t who,
		    struct rosm_peer **peer_out);
	int (*dead)(struct rosm_peer *peer);
};

static void *sym(void *dso, const char *name)
{
	void *p = dlsym(dso, name);

	CHECK(p != NULL);
	return p;
}

static void load(struct copy *c, const char *path)
{
	void *dso = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!dso)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(dso != NULL);
	*(void **)&c->process = sym(dso, "dso_process");
	*(void **)&c->open = sym(dso, "dso_open");
	*(void **)&c->close = sym(dso, "dso_close");
	*(void **)&c->current = sym(dso, "dso_current");
	*(void **)&c->peer = sym(dso, "dso_peer");
	*(void **)&c->dead = sym(dso, "dso_dead");
}

static void load_both(struct copy c[2])
{
	load(&c[0], BASE_DSO_DIR "/base_dso_a.so");
	load(&c[1], BASE_DSO_DIR "/base_dso_b.so");
	CHECK(c[0].open != c[1].open);
}

/* Descriptors of this process that are the directory. */
static int dir_fds(int fd)
{
	struct stat want, st;
	struct dirent *d;
	DIR *all = opendir("/proc/self/fd");
	int n = 0;

	CHECK(all != NULL);
	CHECK_OK(fstat(fd, &want));
	while ((d = readdir(all)))
		if (!fstat(atoi(d->d_name), &st) && st.st_ino == want.st_ino &&
		    st.st_dev == want.st_dev)
			n++;
	closedir(all);
	return n;
}

static int share(struct mp *mp, int rank, void *arg)
{
	struct copy c[2];
	struct rosm_inst *inst[2] = { NULL, NULL }, *again;
	struct rosm_peer *p[2];
	uint64_t who[2], reply;
	int i;

	(void)rank, (void)arg;
	load_both(c);
	for (i = 0; i < 2; i++)
		CHECK_OK(c[i].open(&inst[i]));
	CHECK(c[0].process() == c[1].process());
	CHECK(inst[0] != inst[1]);
	CHECK(inst[0]->dir == inst[1]->dir);
	CHECK_NE(inst[0]->slot, inst[1]->slot);
	CHECK_EQ(dir_fds(inst[0]->dir->fd), 1);

	/* each sees the other as local, and alive */
	for (i = 0; i < 2; i++) {
		CHECK_OK(c[i].peer(inst[i], inst[!i]->who, &p[i]));
		CHECK(p[i]->local);
		CHECK(!p[i]->self);
		CHECK(!c[i].dead(p[i]));
		CHECK(p[i]->rw != inst[!i]->rw.base);
		who[i] = inst[i]->who;
	}
	CHECK_OK(c[0].open(&again));
	CHECK(again == inst[0]);
	c[0].close(again);

	/* the end of one leaves the other's lock byte alone */
	c[1].close(inst[1]);
	CHECK(c[0].dead(p[0]));
	mp_send(mp, 1, who, sizeof(who));
	mp_recv(mp, 1, &reply, sizeof(reply));
	CHECK_EQ(reply, 1);
	c[0].close(inst[0]);
	return 0;
}

static int look(struct mp *mp)
{
	struct rosm_inst *inst = base_open();
	uint64_t who[2], alive;

	mp_recv(mp, 0, who, sizeof(who));
	alive = rosm_dir_alive(inst->dir, who[0]) |
		(uint64_t)rosm_dir_alive(inst->dir, who[1]) << 1;
	mp_send(mp, 0, &alive, sizeof(alive));
	rosm_inst_put(inst);
	return 0;
}

static int share_and_look(struct mp *mp, int rank, void *arg)
{
	return rank ? look(mp) : share(mp, rank, arg);
}

static int fork_both(struct mp *mp, int rank, void *arg)
{
	struct copy c[2];
	struct rosm_inst *inst[2], *mine[2];
	int i, status;
	pid_t pid;

	(void)mp, (void)rank, (void)arg;
	load_both(c);
	for (i = 0; i < 2; i++)
		CHECK_OK(c[i].open(&inst[i]));
	pid = fork();
	CHECK_GE(pid, 0);
	if (!pid) {
		for (i = 0; i < 2; i++)
			CHECK(c[i].current() == NULL);
		for (i = 0; i < 2; i++) {
			CHECK_OK(c[i].open(&mine[i]));
			CHECK_NE(mine[i]->slot, inst[0]->slot);
			CHECK_NE(mine[i]->slot, inst[1]->slot);
		}
		CHECK_EQ(dir_fds(mine[0]->dir->fd), 1);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	for (i = 0; i < 2; i++) {
		CHECK(c[i].current() == inst[i]);
		c[i].close(inst[i]);
	}
	return 0;
}

static void two_copies_share_one_block(void **state)
{
	(void)state;
	assert_int_equal(mp_run(2, share_and_look, NULL), 0);
}

static void a_fork_child_opens_both_anew(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, fork_both, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_copies_share_one_block),
		cmocka_unit_test(a_fork_child_opens_both_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
