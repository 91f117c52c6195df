/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each named kill point and failing call of the engine's lower half, once: a
 * victim is killed there, or gets the failure, in a run through everything an
 * instance does; then others, and after a failure the victim too, go through
 * all of it without trouble. A point that no run comes by is a failure.
 * Built with --enable-fault only.
 */
#include <config.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "engine/mr.h"
#include "engine/pd.h"
#include "engine/rosm.h"
#include "tests/proc/base.h"
#include "util/fault.h"

enum { POINTS_MAX = 128, NAME_MAX_LEN = 64 };

/* What the lower half goes by; the rest has tests of its own. */
static const char *const areas[] = { "dir.", "inst.", "peer.", "mr.", "pd.",
				     "stat.", "shm." };

struct point {
	char name[NAME_MAX_LEN];
	enum ru_fault_kind kind;
};

static struct point points[POINTS_MAX];
static int n_points;

static int note(void *ctx, const struct ru_fault_point *p)
{
	size_t i;

	(void)ctx;
	for (i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
		if (strncmp(p->name, areas[i], strlen(areas[i])))
			continue;
		CHECK_LT(n_points, POINTS_MAX);
		snprintf(points[n_points].name, NAME_MAX_LEN, "%s", p->name);
		points[n_points++].kind = p->kind;
	}
	return 0;
}

/* ---- the run ------------------------------------------------------------ */

static void ignore_peer(void *arg, const struct rosm_stat_peer *sp)
{
	(void)arg, (void)sp;
}

/* First error of the steps with an instance; what was made is undone. */
static int steps(struct rosm_inst *inst, uint64_t helper)
{
	struct rosm_ctx ctx = { .inst = inst };
	struct rosm_peer *p = NULL;
	struct rosm_pd *pd = NULL;
	struct rosm_mr *mr = NULL;
	uint32_t qpn = 0;
	uint64_t off;
	int rc, rc2;

	do	/* it may have to be asked by socket */
		rc = helper ? rosm_peer_get(inst, helper, &p) : 0;
	while (rc == -EAGAIN);
	rc2 = rosm_dir_new_qpn(inst->dir, inst->who, 0, &qpn);
	rc = rc ? rc : rc2;
	rc2 = rosm_dir_insert(inst->dir, ROSM_DIR_T_NAME, 5, inst->who, 0);
	rc = rc ? rc : rc2;
	rc2 = rosm_inst_commit_qp(inst, 3);
	rc = rc ? rc : rc2;
	rc2 = ru_shmalloc_get(&inst->rw_heap, 4096, 64, &off);
	rc = rc ? rc : rc2;
	rc2 = rosm_pd_alloc(&ctx, &pd);
	if (!rc2) {
		rc2 = rosm_mr_reg(pd, &ctx, sizeof(ctx), 0, 0, &mr);
		if (!rc2)
			CHECK_OK(rosm_mr_dereg(mr));
		CHECK_OK(rosm_pd_free(pd));
	}
	rc = rc ? rc : rc2;
	rc2 = rosm_stat_live(0, ignore_peer, NULL);
	rc = rc ? rc : rc2;
	if (qpn)
		rosm_dir_remove(inst->dir, ROSM_DIR_T_QPN, qpn, inst->who);
	rosm_dir_remove(inst->dir, ROSM_DIR_T_NAME, 5, inst->who);
	return rc;
}

static int run(uint64_t helper)
{
	struct rosm_inst *inst;
	int rc;

	rc = rosm_inst_get(&inst);
	if (rc)
		return rc;
	rc = steps(inst, helper);
	rosm_inst_put(inst);
	if (!helper && !rc)
		rc = rosm_dir_clean();
	return rc;
}

/* ---- processes ---------------------------------------------------------- */

static void helper_lives(int fd)
{
	struct rosm_inst *inst = base_open();

	CHECK_EQ(write(fd, &inst->who, 8), 8);
	for (;;) {	/* a program that polls */
		rosm_peers_watch(inst);
		base_nap_ms(1);
	}
}

static pid_t start_helper(uint64_t *who_out)
{
	int fd[2];
	pid_t pid;

	CHECK_OK(pipe(fd));
	pid = fork();
	CHECK_GE(pid, 0);
	if (!pid) {
		alarm(60);
		helper_lives(fd[1]);
	}
	CHECK_EQ(read(fd[0], who_out, 8), 8);
	close(fd[0]);
	close(fd[1]);
	return pid;
}

/* Status of a run with that point armed (NULL: none) in a child. */
static int child_run(const struct point *p, uint64_t helper)
{
	char spec[NAME_MAX_LEN + 16];
	int status;
	pid_t pid = fork();

	CHECK_GE(pid, 0);
	if (pid) {
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		return status;
	}
	alarm(60);
	if (p) {
		snprintf(spec, sizeof(spec), "%s:%s",
			 p->kind == RU_FAULT_KILL ? "kill" : "fail", p->name);
		setenv("ROSM_FAULT", spec, 1);
		ru_fault_reload();
		if (run(helper))	/* it had its failure; now again */
			setenv("ROSM_FAULT_SEEN", "1", 1);
		unsetenv("ROSM_FAULT");
		ru_fault_reload();
	}
	CHECK_OK(run(helper));
	_exit(getenv("ROSM_FAULT_SEEN") ? 3 : 0);
}

/*
 * A failure shows as an error of the run, but for those that have another way
 * behind them.
 */
static int has_other_way(const struct point *p)
{
	return !strcmp(p->name, "peer.proc");
}

static void try_point(const struct point *p, int with_helper)
{
	uint64_t who = 0;
	pid_t helper = 0;
	int status, ok;

	rosm_dir_clean();
	if (with_helper)
		helper = start_helper(&who);
	status = child_run(p, who);
	if (p->kind == RU_FAULT_KILL)
		ok = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	else
		ok = WIFEXITED(status) &&
		     WEXITSTATUS(status) == (has_other_way(p) ? 0 : 3);
	if (!ok)
		check_failed(__FILE__, __LINE__, "%s%s: status 0x%x", p->name,
			     with_helper ? " with a peer" : "", status);
	CHECK_EQ(child_run(NULL, who), 0);
	if (!helper)
		return;
	CHECK_OK(kill(helper, SIGKILL));
	CHECK_EQ(waitpid(helper, &status, 0), helper);
}

/* Creation and cleaning happen alone, attaching with a peer only. */
static int alone_only(const struct point *p)
{
	return !strncmp(p->name, "dir.create", 10) ||
	       !strcmp(p->name, "dir.blocks") || !strcmp(p->name, "dir.clean");
}

static int peer_only(const struct point *p)
{
	return !strcmp(p->name, "peer.mapped") ||
	       !strcmp(p->name, "peer.proc") || !strcmp(p->name, "shm.attach");
}

static int all_points(struct mp *mp, int rank, void *arg)
{
	int i;

	(void)mp, (void)rank, (void)arg;
	CHECK_OK(ru_fault_each(note, NULL));
	CHECK_GT(n_points, 20);
	for (i = 0; i < n_points; i++) {
		if (!peer_only(&points[i]))
			try_point(&points[i], 0);
		if (!alone_only(&points[i]))
			try_point(&points[i], 1);
	}
	return 0;
}

static void every_point_leaves_others_whole(void **state)
{
	struct mp *mp;

	(void)state;
	assert_true(ru_fault_enabled());
	mp = mp_start(1, all_points, NULL);
	mp_deadline(mp, 100);
	assert_int_equal(mp_finish(mp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_point_leaves_others_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
