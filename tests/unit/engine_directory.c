/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory: file, key tables, QPNs, cleaning. Each test runs in a worker
 * of its own, since a process opens its directory once.
 */
#include <config.h>

#include "engine/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "engine/process.h"
#include "engine/rosm.h"
#include "tests/proc/base.h"
#include "util/log.h"

/* An instance that nobody is: its slot's lock byte is free. */
#define DEAD	rosm_wire_who(4000, 7)

static struct rosm_dir *get_dir(void)
{
	struct rosm_dir *dir = NULL;

	CHECK_OK(rosm_dir_get(&dir));
	return dir;
}

static uint64_t claim(struct rosm_dir *dir)
{
	uint32_t slot = 0, gen = 0;

	CHECK_OK(rosm_dir_claim(dir, &slot, &gen));
	return rosm_wire_who(slot, gen);
}

static void release(struct rosm_dir *dir, uint64_t who)
{
	rosm_dir_release(dir, rosm_wire_who_slot(who), rosm_wire_who_gen(who));
}

static int slots(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir = get_dir();
	uint64_t a = claim(dir), b = claim(dir), c;

	(void)mp, (void)rank, (void)arg;
	CHECK_NE(rosm_wire_who_slot(a), rosm_wire_who_slot(b));
	CHECK(rosm_dir_alive(dir, a));
	CHECK(rosm_dir_alive(dir, b));
	CHECK(!rosm_dir_alive(dir, DEAD));
	CHECK(!rosm_dir_alive(dir, 0));
	release(dir, a);
	CHECK(!rosm_dir_alive(dir, a));
	c = claim(dir);
	CHECK_EQ(rosm_wire_who_slot(c), rosm_wire_who_slot(a));
	CHECK_NE(rosm_wire_who_gen(c), rosm_wire_who_gen(a));
	CHECK(!rosm_dir_alive(dir, a));
	CHECK(rosm_dir_alive(dir, c));
	return 0;
}

/* Rank 1 gives its slot back and claims it anew: another instance. */
static int generations(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir = get_dir();
	uint64_t old = 0, new = 0;

	(void)arg;
	if (rank) {
		old = claim(dir);
		mp_send(mp, 0, &old, sizeof(old));
		mp_recv(mp, 0, &old, sizeof(old));
		release(dir, old);
		new = claim(dir);
		mp_send(mp, 0, &new, sizeof(new));
	} else {
		mp_recv(mp, 1, &old, sizeof(old));
		CHECK(rosm_dir_alive(dir, old));
		mp_send(mp, 1, &old, sizeof(old));
		mp_recv(mp, 1, &new, sizeof(new));
		CHECK_EQ(rosm_wire_who_slot(new), rosm_wire_who_slot(old));
		CHECK(rosm_dir_alive(dir, new));
		CHECK(!rosm_dir_alive(dir, old));
	}
	mp_barrier(mp);
	return 0;
}

static int keys(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir = get_dir();
	uint64_t me = claim(dir), other = claim(dir), who, aux;
	const enum rosm_dir_table t = ROSM_DIR_T_NAME;
	uint32_t i;

	(void)mp, (void)rank, (void)arg;
	CHECK_EQ(rosm_dir_lookup(dir, t, 77, &who, &aux), -ENOENT);
	CHECK_OK(rosm_dir_insert(dir, t, 77, me, 4711));
	CHECK_OK(rosm_dir_lookup(dir, t, 77, &who, &aux));
	CHECK_EQ(who, me);
	CHECK_EQ(aux, 4711);
	CHECK_EQ(rosm_dir_insert(dir, t, 77, other, 1), -EEXIST);
	rosm_dir_remove(dir, t, 77, other);	/* not its own */
	CHECK_OK(rosm_dir_lookup(dir, t, 77, &who, &aux));
	rosm_dir_remove(dir, t, 77, me);
	CHECK_EQ(rosm_dir_lookup(dir, t, 77, &who, &aux), -ENOENT);

	/* a window full of the living; one of them goes */
	for (i = 0; i < ROSM_DIR_WINDOW; i++)
		CHECK_OK(rosm_dir_insert(dir, t, 100 + i * ROSM_DIR_NAMES, me,
					 i));
	i = ROSM_DIR_WINDOW;
	CHECK_EQ(rosm_dir_insert(dir, t, 100 + i * ROSM_DIR_NAMES, other, i),
		 -ENOSPC);
	release(dir, me);
	CHECK_EQ(rosm_dir_lookup(dir, t, 100, &who, &aux), -ENOENT);
	CHECK_OK(rosm_dir_insert(dir, t, 100 + i * ROSM_DIR_NAMES, other, i));
	CHECK_OK(rosm_dir_insert(dir, t, 100, other, 5));
	CHECK_OK(rosm_dir_lookup(dir, t, 100, &who, &aux));
	CHECK_EQ(who, other);
	CHECK_EQ(aux, 5);
	CHECK_EQ(rosm_dir_insert(dir, t, ROSM_DIR_KEY_BUSY, other, 0), -EINVAL);
	return 0;
}

static int dead_entries(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir = get_dir();
	uint64_t me = claim(dir), who, aux;
	struct rosm_wire_dir_key *e = &dir->qpns[500];

	(void)mp, (void)rank, (void)arg;
	e->word = 500ull << ROSM_WIRE_WHO_BITS | DEAD;
	CHECK_EQ(rosm_dir_lookup(dir, ROSM_DIR_T_QPN, 500, &who, &aux),
		 -ENOENT);
	CHECK_OK(rosm_dir_insert(dir, ROSM_DIR_T_QPN, 500, me, 9));
	CHECK_EQ(e->word, 500ull << ROSM_WIRE_WHO_BITS | me);
	/* half written by somebody who died */
	e = &dir->qpns[600];
	e->word = (uint64_t)ROSM_DIR_KEY_BUSY << ROSM_WIRE_WHO_BITS | DEAD;
	CHECK_OK(rosm_dir_insert(dir, ROSM_DIR_T_QPN, 600, me, 9));
	CHECK_EQ(e->word, 600ull << ROSM_WIRE_WHO_BITS | me);
	return 0;
}

static int qpns(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir = get_dir();
	uint64_t me = claim(dir), who, aux;
	uint32_t qpn[100], again, i, j;

	(void)mp, (void)rank, (void)arg;
	for (i = 0; i < 100; i++) {
		CHECK_OK(rosm_dir_new_qpn(dir, me, 1000 + i, &qpn[i]));
		CHECK_GE(qpn[i], 2);
		CHECK_LT(qpn[i], ROSM_DIR_KEY_BUSY);
		CHECK_LT(qpn[i] & (ROSM_DIR_QPNS - 1), 102);
		for (j = 0; j < i; j++)
			CHECK_NE(qpn[i], qpn[j]);
		CHECK_OK(rosm_dir_lookup(dir, ROSM_DIR_T_QPN, qpn[i], &who,
					 &aux));
		CHECK_EQ(who, me);
		CHECK_EQ(aux, 1000 + i);
	}
	rosm_dir_remove(dir, ROSM_DIR_T_QPN, qpn[40], me);
	CHECK_OK(rosm_dir_new_qpn(dir, me, 0, &again));
	CHECK_EQ(again & (ROSM_DIR_QPNS - 1), qpn[40] & (ROSM_DIR_QPNS - 1));
	CHECK_NE(again, qpn[40]);
	CHECK_EQ(rosm_dir_lookup(dir, ROSM_DIR_T_QPN, qpn[40], &who, &aux),
		 -ENOENT);
	return 0;
}

/* ---- two processes want the same ------------------------------------- */

/* who finds a name held waits a while to be certain */
enum { NAMES = 40, ROUNDS = 300 };

static int same_name(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir = get_dir();
	uint64_t me = claim(dir), who, aux;
	int other = !rank, i, rc, rc2;

	(void)arg;
	for (i = 0; i < NAMES; i++) {
		mp_barrier(mp);
		rc = rosm_dir_insert(dir, ROSM_DIR_T_NAME, (uint32_t)i, me,
				     (uint64_t)rank);
		mp_send(mp, other, &rc, sizeof(rc));
		mp_recv(mp, other, &rc2, sizeof(rc2));
		CHECK(rc == 0 || rc == -EEXIST);
		CHECK(rc || rc2);	/* never both */
		if (rc && rc2)		/* allowed, but then nobody has it */
			CHECK_EQ(rosm_dir_lookup(dir, ROSM_DIR_T_NAME,
						 (uint32_t)i, &who, &aux),
				 -ENOENT);
	}
	return 0;
}

static int same_qpns(struct mp *mp, int rank, void *arg)
{
	static uint32_t mine[2 * ROUNDS], theirs[2 * ROUNDS];
	struct rosm_dir *dir = get_dir();
	uint64_t me = claim(dir);
	int i, j;

	(void)arg;
	mp_barrier(mp);
	for (i = 0; i < 2 * ROUNDS; i++)
		CHECK_OK(rosm_dir_new_qpn(dir, me, 0, &mine[i]));
	mp_send(mp, !rank, mine, sizeof(mine));
	mp_recv(mp, !rank, theirs, sizeof(theirs));
	for (i = 0; i < 2 * ROUNDS; i++)
		for (j = 0; j < 2 * ROUNDS; j++)
			CHECK_NE(mine[i], theirs[j]);
	mp_barrier(mp);
	return 0;
}

/* ---- the file --------------------------------------------------------- */

static void path_of(char path[4096])
{
	CHECK_OK(rosm_dir_path(path, 4096));
}

static int file_checks(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir;
	char path[4096], link[4200];
	uint32_t version = ROSM_WIRE_VERSION + 1;
	struct stat st;
	int fd;

	(void)mp, (void)rank, (void)arg;
	path_of(path);
	snprintf(link, sizeof(link), "%s.elsewhere", path);
	CHECK_EQ(rosm_dir_look(&dir), -ENOENT);
	CHECK_OK(symlink(link, path));
	CHECK_EQ(rosm_dir_get(&dir), -EACCES);
	CHECK_OK(unlink(path));

	fd = open(path, O_CREAT | O_RDWR, 0600);
	CHECK_GE(fd, 0);
	CHECK_OK(fchmod(fd, 0644));
	CHECK_EQ(rosm_dir_get(&dir), -EACCES);
	CHECK_OK(fchmod(fd, 0600));
	CHECK_EQ(pwrite(fd, "strange", 7, 0), 7);
	CHECK_EQ(rosm_dir_get(&dir), -EPROTO);
	CHECK_OK(ftruncate(fd, 0));
	CHECK_OK(rosm_dir_get(&dir));
	CHECK_OK(fstat(fd, &st));
	CHECK_EQ(st.st_size, ROSM_DIR_SIZE);
	CHECK_EQ(st.st_mode & 07777, 0600);

	/* no other process may be told that a slot of ours is free */
	close(fd);
	CHECK_OK(rosm_dir_clean());
	CHECK_EQ(rosm_dir_clean(), -ENOENT);
	CHECK_OK(rosm_dir_get(&dir));
	CHECK_OK(fstat(dir->fd, &st));
	CHECK_EQ(st.st_nlink, 1);
	dir->head->version = version;
	return 0;
}

static int lines;

static void count_line(void *ctx, enum ru_log_level level, const char *subsys,
		       const char *line)
{
	char both[64];

	(void)ctx, (void)level, (void)subsys;
	snprintf(both, sizeof(both), "wire version %u, this process speaks %u",
		 ROSM_WIRE_VERSION + 1, ROSM_WIRE_VERSION);
	if (strstr(line, both))
		lines++;
}

static int other_version(struct mp *mp, int rank, void *arg)
{
	static const struct ru_log_sink sink = { .level = RU_LOG_WARN,
						 .write = count_line };
	struct rosm_dir *dir;
	uint64_t who;

	(void)arg;
	if (!rank) {
		who = claim(get_dir());
		get_dir()->head->version = ROSM_WIRE_VERSION + 1;
		mp_barrier(mp);
		mp_barrier(mp);
		release(get_dir(), who);
		mp_barrier(mp);
		mp_barrier(mp);
		return 0;
	}
	mp_barrier(mp);
	ru_log_set_sink(&sink);
	CHECK_EQ(rosm_dir_get(&dir), -EPROTO);
	CHECK_EQ(lines, 1);
	CHECK_EQ(rosm_dir_clean(), -EBUSY);
	mp_barrier(mp);
	mp_barrier(mp);
	CHECK_OK(rosm_dir_clean());
	CHECK_OK(rosm_dir_get(&dir));
	mp_barrier(mp);
	return 0;
}

static int clean_and_claim(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir;
	uint32_t slot, gen;
	int i, rc;

	(void)arg;
	mp_barrier(mp);
	for (i = 0; i < ROUNDS; i++) {
		if (!rank) {
			rc = rosm_dir_clean();
			CHECK(rc == 0 || rc == -EBUSY || rc == -ENOENT);
			continue;
		}
		do {
			dir = get_dir();
			rc = rosm_dir_claim(dir, &slot, &gen);
		} while (rc == -EAGAIN);
		CHECK_OK(rc);
		/* whoever opens the path finds the file in which we live */
		for (rc = 0; rc < 3; rc++) {
			struct stat a, b;
			char path[4096];

			path_of(path);
			CHECK_OK(stat(path, &a));
			CHECK_OK(fstat(dir->fd, &b));
			CHECK_EQ(a.st_ino, b.st_ino);
			sched_yield();
		}
		rosm_dir_release(dir, slot, gen);
	}
	return 0;
}

/* A lookup of one's own key is on the way of each post that waits. */
static int lookup_without_lock(struct mp *mp, int rank, void *arg)
{
	struct rosm_dir *dir = get_dir();
	uint64_t me = claim(dir), who, aux;
	struct rosm_process *p = rosm_process_get();

	(void)mp, (void)rank, (void)arg;
	CHECK_OK(rosm_dir_insert(dir, ROSM_DIR_T_QPN, 500, me, 11));
	rosm_process_lock(p);
	CHECK_OK(rosm_dir_lookup(dir, ROSM_DIR_T_QPN, 500, &who, &aux));
	CHECK(who == me && aux == 11);
	rosm_process_unlock(p);
	return 0;
}

struct looker {
	struct rosm_dir *dir;
	uint64_t who;
	atomic_bool stop;
};

static void *look(void *arg)
{
	struct looker *l = arg;
	uint64_t who, aux;

	while (!atomic_load(&l->stop)) {
		CHECK(rosm_dir_alive(l->dir, l->who));
		CHECK_OK(rosm_dir_lookup(l->dir, ROSM_DIR_T_QPN, 500, &who,
					 &aux));
		CHECK(who == l->who && aux == 11);
	}
	return NULL;
}

static int lookup_while_others_come(struct mp *mp, int rank, void *arg)
{
	struct looker l = { .dir = get_dir() };
	uint64_t before = claim(l.dir), other;
	pthread_t thread;
	int i;

	(void)mp, (void)rank, (void)arg;
	l.who = claim(l.dir);
	CHECK_OK(rosm_dir_insert(l.dir, ROSM_DIR_T_QPN, 500, l.who, 11));
	CHECK_OK(pthread_create(&thread, NULL, look, &l));
	for (i = 0; i < 300; i++) {
		other = claim(l.dir);
		CHECK(rosm_dir_alive(l.dir, other));
		release(l.dir, before);
		before = other;
	}
	atomic_store(&l.stop, true);
	CHECK_OK(pthread_join(thread, NULL));
	return 0;
}

#define IN_WORKERS(name, n, fn)						\
	static void name(void **state)					\
	{								\
		(void)state;						\
		assert_int_equal(mp_run(n, fn, NULL), 0);		\
	}

IN_WORKERS(slots_are_claimed_with_new_generations, 1, slots)
IN_WORKERS(a_generation_that_is_over_is_dead, 2, generations)
IN_WORKERS(keys_are_found_while_their_owner_lives, 1, keys)
IN_WORKERS(entries_of_the_dead_are_replaced, 1, dead_entries)
IN_WORKERS(qpns_are_low_and_differ_on_reuse, 1, qpns)
IN_WORKERS(a_name_has_one_holder, 2, same_name)
IN_WORKERS(a_qpn_has_one_holder, 2, same_qpns)
IN_WORKERS(only_a_file_of_ours_alone_is_used, 1, file_checks)
IN_WORKERS(another_version_is_refused_in_one_line, 2, other_version)
IN_WORKERS(ones_own_key_is_found_without_a_lock, 1, lookup_without_lock)
IN_WORKERS(ones_own_slot_lives_while_others_come_and_go, 1,
	   lookup_while_others_come)
IN_WORKERS(clean_never_takes_a_used_file, 2, clean_and_claim)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_claimed_with_new_generations),
		cmocka_unit_test(a_generation_that_is_over_is_dead),
		cmocka_unit_test(keys_are_found_while_their_owner_lives),
		cmocka_unit_test(entries_of_the_dead_are_replaced),
		cmocka_unit_test(qpns_are_low_and_differ_on_reuse),
		cmocka_unit_test(a_name_has_one_holder),
		cmocka_unit_test(a_qpn_has_one_holder),
		cmocka_unit_test(only_a_file_of_ours_alone_is_used),
		cmocka_unit_test(another_version_is_refused_in_one_line),
		cmocka_unit_test(ones_own_key_is_found_without_a_lock),
		cmocka_unit_test(ones_own_slot_lives_while_others_come_and_go),
		cmocka_unit_test(clean_never_takes_a_used_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
