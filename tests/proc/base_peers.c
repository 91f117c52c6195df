/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two processes: contact, death, an orderly end, exec, fork, refusals.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "engine/hazard.h"
#include "engine/process.h"
#include "tests/proc/base.h"
#include "util/log.h"

enum { DEATH_MS = 2000 };

/* ---- contact ----------------------------------------------------------- */

static int attach(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint64_t other = base_swap(mp, !rank, inst->who), off, got;
	struct rosm_peer *p = base_peer(inst, other);
	_Atomic uint64_t *word;

	(void)arg;
	CHECK_EQ(p->who, other);
	CHECK_EQ(p->pid, mp_pid(mp, !rank));
	CHECK(!p->self && !p->local);
	CHECK_GE(p->pidfd, 0);
	CHECK(base_peer(inst, other) == p);
	CHECK(rosm_peer_find(inst, other) == p);
	CHECK(base_peer(inst, inst->who) == inst->self);
	CHECK_EQ(p->stat->who, other);
	CHECK(!rosm_peer_is_dead(p));

	/* what we put into our heap, the other reads and answers */
	CHECK_OK(ru_shmalloc_get(&inst->rw_heap, 64, 64, &off));
	word = ru_shmalloc_ptr(&inst->rw_heap, off);
	*word = 100 + (uint64_t)rank;
	got = base_swap(mp, !rank, off);
	word = rosm_peer_rw(p, got, 8);
	CHECK(word != NULL);
	CHECK_EQ(*word, 100 + !rank);
	CHECK(rosm_peer_rw(p, p->rw_size, 8) == NULL);
	CHECK(rosm_peer_ro(p, p->ro_size - 8, 16) == NULL);

	rosm_peer_attend(p);
	mp_barrier(mp);
	CHECK_EQ(inst->rwh->attn[p->who % ROSM_WIRE_INSTANCES / 64],
		 1ull << p->who % 64);
	CHECK_EQ(inst->rwh->attn_sum,
		 1ull << p->who % ROSM_WIRE_INSTANCES / 64);
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

static int ro_is_not_writable(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct rosm_peer *p = base_peer(inst, other);

	(void)arg;
	if (rank) {
		mp_expect_signal(mp, 1, SIGSEGV);
		mp_barrier(mp);
		p->roh->qps = 1;	/* the kernel says no */
		CHECK(!"reached");
	}
	mp_barrier(mp);
	return 0;
}

static int nobody(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint32_t next = (inst->gen + 1) & ROSM_WIRE_GEN_MASK;
	struct rosm_peer *p = NULL;

	(void)mp, (void)rank, (void)arg;
	CHECK_EQ(rosm_peer_get(inst, rosm_wire_who(77, 3), &p), -EHOSTUNREACH);
	CHECK_EQ(rosm_peer_get(inst, rosm_wire_who(inst->slot, next), &p),
		 -EHOSTUNREACH);
	CHECK_EQ(rosm_peer_get(inst, 0, &p), -EHOSTUNREACH);
	CHECK(p == NULL);
	rosm_inst_put(inst);
	return 0;
}

/* ---- ends -------------------------------------------------------------- */

static _Noreturn void victim(struct mp *mp)
{
	struct rosm_inst *inst = base_open();

	base_peer(inst, base_swap(mp, 0, inst->who));
	mp_barrier(mp);
	for (;;)
		pause();
}

static void wait_dead(struct rosm_inst *inst, struct rosm_peer *p)
{
	uint64_t end = mp_now_ns() + DEATH_MS * 1000000ull;

	while (!atomic_load(&inst->dead_count) && mp_now_ns() < end) {
		rosm_peers_watch(inst);
		base_nap_ms(1);
	}
	CHECK_EQ(inst->dead_count, 1);
	CHECK(p->dead);
	CHECK(ru_list_first(&inst->dead_list) == &p->link);
	CHECK(rosm_peer_is_dead(p));
	CHECK_EQ(inst->dead_count, 1);
}

static int killed(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst;
	struct rosm_peer *p, *again;
	struct pollfd pfd = { .events = POLLIN };
	uint64_t other;

	(void)arg;
	if (rank)
		victim(mp);
	inst = base_open();
	other = base_swap(mp, 1, inst->who);
	p = base_peer(inst, other);
	mp_barrier(mp);
	CHECK(!rosm_peer_is_dead(p));
	mp_kill(mp, 1);
	/* a sleeper on the epoll descriptor is woken */
	pfd.fd = inst->watch_fd;
	CHECK_EQ(poll(&pfd, 1, DEATH_MS), 1);
	wait_dead(inst, p);
	CHECK_EQ(poll(&pfd, 1, 0), 0);
	CHECK_EQ(rosm_peer_get(inst, other, &again), -ECONNABORTED);
	CHECK(!rosm_dir_alive(inst->dir, other));
	rosm_inst_put(inst);
	return 0;
}

static int killed_without_pidfd(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst;
	struct rosm_peer *p;

	(void)arg;
	if (rank)
		victim(mp);
	inst = base_open();
	p = base_peer(inst, base_swap(mp, 1, inst->who));
	rosm_process_fd_close(p->pidfd);
	p->pidfd = -1;
	mp_barrier(mp);
	mp_kill(mp, 1);
	wait_dead(inst, p);
	rosm_inst_put(inst);
	return 0;
}

static int ends_in_order(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	struct rosm_peer *p = base_peer(inst, base_swap(mp, !rank, inst->who));
	char c = 0;

	(void)arg;
	mp_barrier(mp);
	if (rank) {
		rosm_inst_put(inst);
		mp_recv(mp, 0, &c, 1);	/* the process lives on */
		return 0;
	}
	wait_dead(inst, p);
	mp_send(mp, 1, &c, 1);
	rosm_inst_put(inst);
	return 0;
}

static int execs(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	struct rosm_peer *p = base_peer(inst, base_swap(mp, !rank, inst->who));

	(void)arg;
	mp_barrier(mp);
	if (rank) {
		mp_expect_signal(mp, 1, SIGTERM);
		execl("/bin/sleep", "sleep", "20", (char *)NULL);
		return 1;
	}
	wait_dead(inst, p);
	CHECK_EQ(kill(mp_pid(mp, 1), 0), 0);
	CHECK_OK(kill(mp_pid(mp, 1), SIGTERM));
	rosm_inst_put(inst);
	return 0;
}

/* The next generation of a slot takes the place of a dead peer. */
static int slot_again(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst;
	struct rosm_peer *old, *p;
	uint64_t who, sum;
	int i;

	(void)arg;
	if (rank) {
		for (i = 0; i < 3; i++) {
			inst = base_open();
			base_swap(mp, 0, inst->who);
			mp_barrier(mp);
			rosm_inst_put(inst);
			mp_barrier(mp);
		}
		return 0;
	}
	inst = base_open();
	for (i = 0, old = NULL; i < 3; i++) {
		who = base_swap(mp, 1, inst->who);
		p = base_peer(inst, who);
		CHECK(p != old);
		CHECK(rosm_peer_find(inst, who) == p);
		if (old) {
			CHECK_EQ(who % ROSM_WIRE_INSTANCES,
				 old->who % ROSM_WIRE_INSTANCES);
			CHECK(old->dead);
			CHECK(rosm_peer_find(inst, old->who) == NULL);
			/* nothing of it is left but zeros and its sums */
			CHECK_EQ(old->roh->magic, 0);
		}
		atomic_fetch_add(&p->stat->tx_bytes[ROSM_MOVER_CMA], 10);
		mp_barrier(mp);
		mp_barrier(mp);
		CHECK(rosm_peer_is_dead(p));
		p->reaped = true;
		old = p;
	}
	sum = inst->stat_rest.tx_bytes[ROSM_MOVER_CMA] +
	      old->stat->tx_bytes[ROSM_MOVER_CMA];
	CHECK_EQ(sum, 30);
	rosm_inst_put(inst);
	return 0;
}

/* ---- fork -------------------------------------------------------------- */

static void in_child(struct rosm_inst *parents, uint64_t who, int memfd)
{
	struct rosm_inst *inst;
	struct stat st;

	CHECK(rosm_inst_current() == NULL);
	CHECK(parents->orphan);
	CHECK(fstat(memfd, &st) && errno == EBADF);
	CHECK_EQ(parents->roh->magic, 0);	/* blank, not a fault */
	rosm_inst_put(parents);
	inst = base_open();
	CHECK_NE(inst->who, who);
	CHECK_EQ(inst->id.pid, getpid());
	CHECK(rosm_dir_alive(inst->dir, who));
	base_peer(inst, who);
	rosm_inst_put(inst);
}

static int forks(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint64_t who = inst->who, child_who = 0;
	int pipefd[2], status;
	pid_t pid;

	(void)mp, (void)rank, (void)arg;
	CHECK_OK(pipe(pipefd));
	pid = fork();
	CHECK_GE(pid, 0);
	if (!pid) {
		in_child(inst, who, inst->rw.fd < 0 ? 1000000 : inst->rw.fd);
		inst = base_open();
		child_who = inst->who;
		CHECK_EQ(write(pipefd[1], &child_who, 8), 8);
		for (;;)	/* with its instance, until it is killed */
			pause();
	}
	CHECK_EQ(read(pipefd[0], &child_who, 8), 8);
	/* we live on, and see the child as another process */
	CHECK(rosm_dir_alive(inst->dir, who));
	CHECK(!base_peer(inst, child_who)->local);
	CHECK_OK(kill(pid, SIGKILL));
	wait_dead(inst, rosm_peer_find(inst, child_who));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	rosm_inst_put(inst);
	return 0;
}

/* A child that never calls us keeps nothing of ours alive. */
static int idle_child(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst;
	struct rosm_peer *p;
	pid_t pid;

	(void)arg;
	if (rank) {
		inst = base_open();
		base_swap(mp, 0, inst->who);
		pid = fork();
		if (!pid) {
			alarm(20);
			for (;;)
				pause();
		}
		mp_send(mp, 0, &pid, sizeof(pid));
		mp_barrier(mp);
		for (;;)
			pause();
	}
	inst = base_open();
	p = base_peer(inst, base_swap(mp, 1, inst->who));
	CHECK_EQ(mp_recv(mp, 1, &pid, sizeof(pid)), sizeof(pid));
	mp_barrier(mp);
	mp_kill(mp, 1);
	wait_dead(inst, p);
	CHECK_OK(kill(pid, 0));
	CHECK_OK(kill(pid, SIGKILL));
	rosm_inst_put(inst);
	return 0;
}

/* ---- refusals ---------------------------------------------------------- */

static int lines;

static void count_line(void *ctx, enum ru_log_level level, const char *subsys,
		       const char *line)
{
	(void)ctx, (void)level, (void)subsys;
	CHECK(strstr(line, "wire version 99, this process 1"));
	lines++;
}

static int other_version(struct mp *mp, int rank, void *arg)
{
	static const struct ru_log_sink sink = { .level = RU_LOG_WARN,
						 .write = count_line };
	struct rosm_inst *inst = base_open();
	struct rosm_peer *p = NULL;
	uint64_t other;

	(void)arg;
	if (rank) {
		if (arg)
			inst->roh->version = 99;
		else
			inst->dir->insts[inst->slot].wire_version = 99;
	}
	other = base_swap(mp, !rank, inst->who);
	if (!rank) {
		ru_log_set_sink(&sink);
		CHECK_EQ(rosm_peer_get(inst, other, &p), -EPROTO);
		CHECK_EQ(rosm_peer_get(inst, other, &p), -EPROTO);
		CHECK_EQ(lines, 1);
		CHECK(p == NULL);
		ru_log_set_sink(NULL);
	}
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

/* Whatever a slot says, the worst that follows is a refusal. */
static int garbage(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	struct rosm_wire_dir_inst *e = &inst->dir->insts[inst->slot];
	struct rosm_peer *p = NULL;
	uint64_t other = base_swap(mp, !rank, inst->who);
	unsigned int i, tried;
	uint64_t keep;
	_Atomic uint64_t *words = (_Atomic uint64_t *)&e->pid_ns;

	(void)arg;
	ru_log_set_level(RU_LOG_ERROR);
	/* words of the slot from pid_ns to ro_size, without the padding */
	for (i = tried = 0; i < 12; i++) {
		if (i >= 3 && i < 6)
			continue;
		tried++;
		if (rank) {
			keep = words[i];
			words[i] = keep ^ 0x100000001;
			mp_barrier(mp);
			mp_barrier(mp);
			words[i] = keep;
		} else {
			mp_barrier(mp);
			if (i == 0 || i == 2)	/* another pid namespace, boot */
				;		/* asks by socket: elsewhere */
			else
				CHECK_NE(rosm_peer_get(inst, other, &p), 0);
			CHECK(p == NULL);
			mp_barrier(mp);
		}
	}
	mp_barrier(mp);
	CHECK_EQ(tried, 9);
	if (!rank)
		base_peer(inst, other);
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

/* ---- doorbells, drains -------------------------------------------------- */

static int bells(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct rosm_peer *p = base_peer(inst, other);
	struct stat st;
	int pipefd[2], round;
	char c;

	(void)arg;
	for (round = 0; round < 3; round++) {
		if (rank) {	/* the same number, a new pipe each round */
			CHECK_OK(pipe2(pipefd, O_CLOEXEC | O_NONBLOCK));
			CHECK_OK(fstat(pipefd[1], &st));
			inst->roh->bell_ino[5] = st.st_ino;
			inst->roh->bell_fd[5] = (uint32_t)pipefd[1] + 1;
		}
		mp_barrier(mp);
		if (!rank) {
			rosm_peer_ring_bell(p, 5);
			rosm_peer_ring_bell(p, 5);
			rosm_peer_ring_bell(p, 6);	/* there is none */
		}
		mp_barrier(mp);
		if (!rank)
			continue;
		CHECK_EQ(read(pipefd[0], &c, 1), 1);
		CHECK_EQ(read(pipefd[0], &c, 1), 1);
		CHECK_EQ(read(pipefd[0], &c, 1), -1);
		CHECK_EQ(errno, EAGAIN);
		inst->roh->bell_fd[5] = 0;
		close(pipefd[0]);
		close(pipefd[1]);
	}
	if (rank) {	/* no reader any more: no SIGPIPE over there */
		CHECK_OK(pipe2(pipefd, O_CLOEXEC | O_NONBLOCK));
		CHECK_OK(fstat(pipefd[1], &st));
		inst->roh->bell_ino[5] = st.st_ino;
		inst->roh->bell_fd[5] = (uint32_t)pipefd[1] + 1;
		close(pipefd[0]);
	}
	mp_barrier(mp);
	if (!rank)
		rosm_peer_ring_bell(p, 5);
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

/* A peer that we never mapped uses our memory: the drain waits for it. */
static int drain_of_a_stranger(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct rosm_wire_hazard *h;
	_Atomic uint32_t *done;
	struct rosm_peer *p;
	uint64_t off = 0, got;

	(void)arg;
	if (rank) {
		CHECK_OK(ru_shmalloc_get(&inst->rw_heap, 64, 64, &off));
		done = ru_shmalloc_ptr(&inst->rw_heap, off);
		base_swap(mp, 0, off);
		mp_barrier(mp);
		rosm_hazard_drain_mr(inst, 0x123);
		CHECK_EQ(*done, 1);
		CHECK(rosm_peer_find(inst, other) != NULL);
		mp_barrier(mp);
		rosm_inst_put(inst);
		return 0;
	}
	p = base_peer(inst, other);
	got = base_swap(mp, 1, off);
	done = rosm_peer_rw(p, got, 4);
	CHECK(done != NULL);
	h = rosm_hazard_line(inst);
	rosm_hazard_mr(h, other, 0x123);
	mp_barrier(mp);
	base_nap_ms(50);
	*done = 1;
	rosm_hazard_clear(inst, h);
	mp_barrier(mp);
	rosm_inst_put(inst);
	return 0;
}

static int drain_of_a_dead(struct mp *mp, int rank, void *arg)
{
	struct rosm_inst *inst = base_open();
	uint64_t other = base_swap(mp, !rank, inst->who);
	struct rosm_wire_hazard *h;

	(void)arg;
	if (rank) {
		base_peer(inst, other);
		h = rosm_hazard_line(inst);
		rosm_hazard_mr(h, other, 0x123);
		mp_expect_signal(mp, 1, SIGKILL);
		mp_barrier(mp);
		base_nap_ms(50);
		raise(SIGKILL);
	}
	mp_barrier(mp);
	rosm_hazard_drain_mr(inst, 0x123);
	CHECK_EQ(inst->dead_count, 1);
	rosm_inst_put(inst);
	return 0;
}

#define IN_WORKERS(name, n, fn, arg)					\
	static void name(void **state)					\
	{								\
		(void)state;						\
		assert_int_equal(mp_run(n, fn, arg), 0);		\
	}

static char yes;

IN_WORKERS(peers_read_and_write_each_other, 2, attach, NULL)
IN_WORKERS(the_read_only_segment_cannot_be_written, 2, ro_is_not_writable, NULL)
IN_WORKERS(who_is_not_there_is_unreachable, 1, nobody, NULL)
IN_WORKERS(a_killed_peer_is_proven_dead, 2, killed, NULL)
IN_WORKERS(a_lock_byte_proves_it_too, 2, killed_without_pidfd, NULL)
IN_WORKERS(an_orderly_end_is_seen, 2, ends_in_order, NULL)
IN_WORKERS(an_exec_is_seen, 2, execs, NULL)
IN_WORKERS(a_slot_is_used_again, 2, slot_again, NULL)
IN_WORKERS(a_fork_child_opens_anew, 1, forks, NULL)
IN_WORKERS(a_fork_child_keeps_nobody_alive, 2, idle_child, NULL)
IN_WORKERS(another_version_in_the_slot_is_refused, 2, other_version, NULL)
IN_WORKERS(another_version_in_the_segment_is_refused, 2, other_version, &yes)
IN_WORKERS(garbage_in_a_slot_is_refused, 2, garbage, NULL)
IN_WORKERS(bells_ring_the_pipe_that_is_meant, 2, bells, NULL)
IN_WORKERS(a_drain_waits_for_who_we_never_met, 2, drain_of_a_stranger, NULL)
IN_WORKERS(a_drain_does_not_wait_for_the_dead, 2, drain_of_a_dead, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peers_read_and_write_each_other),
		cmocka_unit_test(the_read_only_segment_cannot_be_written),
		cmocka_unit_test(who_is_not_there_is_unreachable),
		cmocka_unit_test(a_killed_peer_is_proven_dead),
		cmocka_unit_test(a_lock_byte_proves_it_too),
		cmocka_unit_test(an_orderly_end_is_seen),
		cmocka_unit_test(an_exec_is_seen),
		cmocka_unit_test(a_slot_is_used_again),
		cmocka_unit_test(a_fork_child_opens_anew),
		cmocka_unit_test(a_fork_child_keeps_nobody_alive),
		cmocka_unit_test(another_version_in_the_slot_is_refused),
		cmocka_unit_test(another_version_in_the_segment_is_refused),
		cmocka_unit_test(garbage_in_a_slot_is_refused),
		cmocka_unit_test(bells_ring_the_pipe_that_is_meant),
		cmocka_unit_test(a_drain_waits_for_who_we_never_met),
		cmocka_unit_test(a_drain_does_not_wait_for_the_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
