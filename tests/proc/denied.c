/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See denied.h. As root a worker first becomes a user without rights, since
 * root may look at everything. A worker that enters a pid namespace forks, for
 * only children are in it; the rank's process then just waits for its child,
 * which dies with it. The child is the first process of its namespace: only
 * somebody outside can kill it.
 */
#include <config.h>

#include "tests/proc/denied.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/assert.h"
#include "util/log.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif

#if defined(__x86_64__)
#define AUDIT_ARCH_HERE	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define AUDIT_ARCH_HERE	AUDIT_ARCH_AARCH64
#else
#error "which architecture does seccomp call this?"
#endif

enum { SOME_USER = 54321 };	/* when root has to be somebody else */

#define USER_ANY	(DENIED_USER | DENIED_USER_BARE | DENIED_USER_ROOT)

const struct denied_case denied_plain[] = {
	{ "nothing is denied", { 0, 0 }, { 0, 0 }, 0 },
	{ "seccomp answers EPERM", { DENIED_CMA, DENIED_CMA },
	  { SAYS_BOTH, SAYS_BOTH }, EPERM },
	{ "seccomp answers ENOSYS", { DENIED_CMA, DENIED_CMA },
	  { SAYS_BOTH, SAYS_BOTH }, ENOSYS },
	{ "one side may not read", { DENIED_READV, 0 }, { SAYS_READ, 0 },
	  EPERM },
	{ "one side may not write", { 0, DENIED_WRITEV }, { 0, SAYS_WRITE },
	  ENOSYS },
	{ "one side may do neither", { DENIED_CMA, 0 }, { SAYS_BOTH, 0 },
	  EPERM },
	{ "nobody may read", { DENIED_READV, DENIED_READV },
	  { SAYS_READ, SAYS_READ }, ENOSYS },
	{ "nobody may write", { DENIED_WRITEV, DENIED_WRITEV },
	  { SAYS_WRITE, SAYS_WRITE }, EPERM },
	{ "one may read, the other write", { DENIED_WRITEV, DENIED_READV },
	  { SAYS_WRITE, SAYS_READ }, EPERM },
	{ "both are not dumpable", { DENIED_DUMP, DENIED_DUMP },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "one is not dumpable", { DENIED_DUMP, 0 }, { 0, SAYS_BOTH }, 0 },
	{ "the other is not dumpable", { 0, DENIED_DUMP }, { SAYS_BOTH, 0 },
	  0 },
	{ "not dumpable, no pidfds", { DENIED_DUMP | DENIED_PIDFD,
				       DENIED_DUMP | DENIED_PIDFD },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "no pidfds, seccomp", { DENIED_CMA | DENIED_PIDFD,
				  DENIED_CMA | DENIED_PIDFD },
	  { SAYS_BOTH, SAYS_BOTH }, EPERM },
};
const unsigned int denied_plain_count =
	sizeof(denied_plain) / sizeof(denied_plain[0]);

const struct denied_case denied_user[] = {
	{ "a user namespace each", { DENIED_USER, DENIED_USER },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "a user namespace each, nothing mapped",
	  { DENIED_USER_BARE, DENIED_USER_BARE }, { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "rank 1 in a user namespace", { 0, DENIED_USER }, { 0, SAYS_BOTH },
	  0 },
	{ "rank 0 in a user namespace", { DENIED_USER, 0 }, { SAYS_BOTH, 0 },
	  0 },
	{ "one user namespace for both", { DENIED_USER, DENIED_JOIN },
	  { 0, 0 }, 0 },
	{ "a user namespace in the other's",
	  { DENIED_USER, DENIED_JOIN | DENIED_USER }, { 0, SAYS_BOTH }, 0 },
	{ "a user namespace each, seccomp",
	  { DENIED_USER | DENIED_CMA, DENIED_USER | DENIED_CMA },
	  { SAYS_BOTH, SAYS_BOTH }, ENOSYS },
	{ "a user namespace each, not dumpable",
	  { DENIED_USER | DENIED_DUMP, DENIED_USER | DENIED_DUMP },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
};
const unsigned int denied_user_count =
	sizeof(denied_user) / sizeof(denied_user[0]);

const struct denied_case denied_pid[] = {
	{ "a pid namespace each", { DENIED_PID, DENIED_PID },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "rank 1 in a pid namespace", { 0, DENIED_PID }, { 0, SAYS_BOTH },
	  0 },
	{ "rank 0 in a pid namespace", { DENIED_PID, 0 }, { SAYS_BOTH, 0 },
	  0 },
	{ "one pid namespace for both", { DENIED_PID, DENIED_JOIN },
	  { 0, 0 }, 0 },
	{ "a pid namespace each, no SO_PEERPIDFD",
	  { DENIED_PID | DENIED_PEERPIDFD, DENIED_PID | DENIED_PEERPIDFD },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "one pid namespace for both, no pidfds",
	  { DENIED_PID | DENIED_PIDFD, DENIED_JOIN | DENIED_PIDFD },
	  { 0, 0 }, 0 },
	{ "a pid namespace each, seccomp",
	  { DENIED_PID | DENIED_CMA, DENIED_PID | DENIED_CMA },
	  { SAYS_BOTH, SAYS_BOTH }, EPERM },
	{ "a pid namespace each, no pidfds",
	  { DENIED_PID | DENIED_PIDFD, DENIED_PID | DENIED_PIDFD },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "a pid namespace each, not dumpable",
	  { DENIED_PID | DENIED_DUMP, DENIED_PID | DENIED_DUMP },
	  { SAYS_BOTH, SAYS_BOTH }, 0 },
	{ "a network namespace each", { DENIED_NET, DENIED_NET },
	  { 0, 0 }, 0 },
};
const unsigned int denied_pid_count =
	sizeof(denied_pid) / sizeof(denied_pid[0]);

/* Sockets are a network namespace's; a directory is of a user as it sees him. */
const struct denied_case denied_refused[] = {
	{ "not dumpable, a network namespace each",
	  { DENIED_DUMP | DENIED_NET, DENIED_DUMP | DENIED_NET }, { 1, 1 }, 0 },
	{ "a pid and a network namespace each",
	  { DENIED_PID | DENIED_NET, DENIED_PID | DENIED_NET }, { 1, 1 }, 0 },
	{ "rank 1 is root of a user namespace", { 0, DENIED_USER_ROOT },
	  { 0, 0 }, 0 },
};
const unsigned int denied_refused_count =
	sizeof(denied_refused) / sizeof(denied_refused[0]);

/*
 * A network namespace of an ordinary user comes with a user namespace, which
 * shuts /proc too: that is one of the refused then.
 */
bool denied_possible(const struct denied_case *c)
{
	return !geteuid() || (c->how[0] | c->how[1]) != DENIED_NET;
}

bool denied_all(const struct denied_case *c)
{
	return c->says[0] == SAYS_BOTH && c->says[1] == SAYS_BOTH;
}

/* ---- the ways -------------------------------------------------------- */

/* process_vm_*v answers err; or pidfd_open and SO_PEERPIDFD are unknown. */
static void filter(uint32_t how, int err)
{
	const uint32_t sock = offsetof(struct seccomp_data, args[2]);
	struct sock_filter f[16];
	unsigned short n = 0;
	struct sock_fprog prog = { .filter = f };
	uint32_t refuse = SECCOMP_RET_ERRNO | (uint32_t)err;

#define ADD(...) (f[n++] = (struct sock_filter)__VA_ARGS__)
#define NUMBER() \
	ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		     offsetof(struct seccomp_data, nr)))
#define ANSWER(nr, ret) \
	ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1)); \
	ADD(BPF_STMT(BPF_RET | BPF_K, ret))

	NUMBER();
	if (how & DENIED_READV) {
		ANSWER(SYS_process_vm_readv, refuse);
	}
	if (how & DENIED_WRITEV) {
		ANSWER(SYS_process_vm_writev, refuse);
	}
	if (how & DENIED_PIDFD) {
		ANSWER(SYS_pidfd_open, SECCOMP_RET_ERRNO | ENOSYS);
	}
	if (how & (DENIED_PIDFD | DENIED_PEERPIDFD)) {
		ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 3));
		ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sock));
		ANSWER(SO_PEERPIDFD, SECCOMP_RET_ERRNO | ENOPROTOOPT);
	}
	ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	prog.len = n;
	CHECK_OK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK_OK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog));
}

static int put(const char *path, const char *fmt, unsigned int id)
{
	char text[64];
	int fd = open(path, O_WRONLY | O_CLOEXEC), n, rc;

	n = snprintf(text, sizeof(text), fmt, id, id);
	rc = fd < 0 || write(fd, text, (size_t)n) != n ? -1 : 0;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int enter_user(uint32_t how)
{
	const char *map = how & DENIED_USER_ROOT ? "0 %u 1" : "%u %u 1";
	unsigned int uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER))
		return -1;
	if (how & DENIED_USER_BARE)
		return 0;
	return put("/proc/self/setgroups", "deny", 0) ||
	       put("/proc/self/uid_map", map, uid) ||
	       put("/proc/self/gid_map", map, gid) ? -1 : 0;
}

static void no_root(void)
{
	CHECK_OK(setgroups(0, NULL));
	CHECK_OK(setresgid(SOME_USER, SOME_USER, SOME_USER));
	CHECK_OK(setresuid(SOME_USER, SOME_USER, SOME_USER));
	/* both are lost with the change */
	CHECK_OK(prctl(PR_SET_DUMPABLE, 1));
	CHECK_OK(prctl(PR_SET_PDEATHSIG, SIGKILL));
}

/* Both folders are this test's own. */
static void open_dirs(struct mp *mp)
{
	char above[4096];
	struct stat st;

	snprintf(above, sizeof(above), "%s", mp_dir(mp));
	CHECK_OK(stat(dirname(above), &st));
	CHECK_OK(chmod(above, (st.st_mode & 07777) | 0011));
	CHECK_OK(chmod(mp_dir(mp), 0777));
}

static int enter_rest(uint32_t how)
{
	return (how & DENIED_PID && unshare(CLONE_NEWPID)) ||
	       (how & DENIED_NET && unshare(CLONE_NEWNET)) ? -1 : 0;
}

/* Namespaces that only root may make alone come with a user namespace. */
static uint32_t how_here(uint32_t how)
{
	if (geteuid() && how & (DENIED_PID | DENIED_NET))
		how |= DENIED_USER;
	return how;
}

static int enter(uint32_t how)
{
	bool root = !geteuid();

	if (root && !(how & USER_ANY) && enter_rest(how))
		return -1;
	if (root)
		no_root();
	if (!(how & USER_ANY))
		return 0;
	return enter_user(how) || enter_rest(how) ? -1 : 0;
}

static const char *try_to_enter(uint32_t how)
{
	static char why[128];
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(enter(how_here(how)) ? errno : 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return "a child could not try it";
	if (!WEXITSTATUS(status))
		return NULL;
	snprintf(why, sizeof(why), "this kernel refuses %s namespaces here: %s",
		 how & DENIED_PID ? "pid" : "user",
		 strerror(WEXITSTATUS(status)));
	return why;
}

const char *denied_no_user(void)
{
	return try_to_enter(DENIED_USER);
}

const char *denied_no_pid(void)
{
	return try_to_enter(DENIED_PID | DENIED_NET);
}

const char *denied_no_any(void)
{
	const char *why = denied_no_pid();

	return why ? why : denied_no_user();
}

/* ---- workers --------------------------------------------------------- */

struct run {
	const struct denied_case *c;
	denied_fn fn;
};

static void join_one(pid_t pid, const char *ns, int type)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, ns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_GE(fd, 0);
	CHECK_OK(setns(fd, type));
	close(fd);
}

/* Where rank 0 is; it has told where that is. */
static void join(uint32_t theirs, pid_t pid)
{
	bool user = theirs & USER_ANY;

	if (!user && theirs & DENIED_PID)
		join_one(pid, "pid", CLONE_NEWPID);
	if (!geteuid())
		no_root();
	if (user)
		join_one(pid, "user", CLONE_NEWUSER);
	if (user && theirs & DENIED_PID)
		join_one(pid, "pid", CLONE_NEWPID);
}

static int inside(struct mp *mp, int rank, const struct run *run)
{
	uint32_t how = run->c->how[rank];
	int rc;

	if (how & DENIED_DUMP)
		CHECK_OK(prctl(PR_SET_DUMPABLE, 0));
	if (how & (DENIED_CMA | DENIED_PIDFD | DENIED_PEERPIDFD))
		filter(how, run->c->err);
	rc = run->fn(mp, rank, run->c);
	/* for who looks for leaks afterwards */
	prctl(PR_SET_DUMPABLE, 1);
	return rc;
}

/* A child that is in the new pid namespace; who asks hears its pid first. */
static int in_child(struct mp *mp, int rank, const struct run *run, bool tell)
{
	int go[2], status;
	pid_t pid;
	char c = 0;

	CHECK_OK(pipe2(go, O_CLOEXEC));
	fflush(NULL);
	pid = fork();
	CHECK_GE(pid, 0);
	if (!pid) {
		CHECK_OK(prctl(PR_SET_PDEATHSIG, SIGKILL));
		close(go[1]);
		CHECK_EQ(read(go[0], &c, 1), 1);
		close(go[0]);
		status = inside(mp, rank, run);
		fflush(NULL);
		if (tell)	/* its namespace ends with its first process */
			(void)mp_recv_timeout(mp, !rank, &c, 1,
					      MP_DEADLINE_S * 1000);
		_exit(status ? 1 : 0);
	}
	if (tell)
		mp_send(mp, !rank, &pid, sizeof(pid));
	CHECK_EQ(write(go[1], &c, 1), 1);
	close(go[0]);
	close(go[1]);
	while (waitpid(pid, &status, 0) < 0)
		CHECK_EQ(errno, EINTR);
	if (run->c->how[rank] & DENIED_JOIN)
		mp_send(mp, !rank, &c, 1);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int worker(struct mp *mp, int rank, void *arg)
{
	const struct run *run = arg;
	uint32_t mine = how_here(run->c->how[rank]);
	uint32_t theirs = how_here(run->c->how[!rank]);
	bool tell = theirs & DENIED_JOIN;
	bool forks = mine & DENIED_PID;
	pid_t pid = getpid();
	int rc;

	if (!geteuid())
		open_dirs(mp);
	if (mine & DENIED_JOIN) {
		CHECK_EQ(mp_recv(mp, !rank, &pid, sizeof(pid)), sizeof(pid));
		join(theirs, pid);
		forks = forks || theirs & DENIED_PID;
	}
	if (enter(mine))
		check_failed(__FILE__, __LINE__, "enter: %s", strerror(errno));
	if (forks) {	/* a leak checker could make no thread any more */
		rc = in_child(mp, rank, run, tell);
		fflush(NULL);
		_exit(rc);
	}
	if (tell)
		mp_send(mp, !rank, &pid, sizeof(pid));
	return inside(mp, rank, run);
}

int denied_run(const struct denied_case *c, denied_fn fn)
{
	struct run run = { c, fn };
	struct mp *mp = mp_start(2, worker, &run);
	ssize_t n;
	char b;

	/* Rank 1 may ask for its end; then rank 0 is told the time. */
	n = mp_recv_timeout(mp, 1, &b, 1, MP_DEADLINE_S * 1000);
	if (n == 1) {
		mp_kill(mp, 1);
		mp_send(mp, 0, &b, 1);
	}
	return mp_finish(mp);
}

/* ---- lines ----------------------------------------------------------- */

enum { LINES = 32 };

static struct {
	atomic_uint n;
	struct {
		enum ru_log_level level;
		char text[RU_LOG_LINE_BYTES];
	} line[LINES];
} seen;

static void keep(void *ctx, enum ru_log_level level, const char *subsys,
		 const char *line)
{
	unsigned int i = atomic_fetch_add(&seen.n, 1);

	(void)ctx;
	if (i >= LINES)
		return;
	if (strstr(line, "makes no call"))	/* got no core for a second */
		level = RU_LOG_INFO;
	seen.line[i].level = level;
	snprintf(seen.line[i].text, sizeof(seen.line[i].text), "%s: %s",
		 subsys, line);
}

void denied_watch_lines(void)
{
	static const struct ru_log_sink sink = {
		.level = RU_LOG_INFO, .write = keep,
	};

	ru_log_set_sink(&sink);
}

unsigned int denied_lines_with(const char *words)
{
	unsigned int i, n = 0;

	for (i = 0; i < seen.n && i < LINES; i++)
		if (strstr(seen.line[i].text, words))
			n++;
	return n;
}

void denied_check_lines(int rank, const struct denied_case *c)
{
	unsigned int from = denied_lines_with("data from it goes through shared memory");
	unsigned int to = denied_lines_with("data to it goes through shared memory");
	unsigned int all = denied_lines_with("through shared memory") -
			   denied_lines_with("makes no call");
	unsigned int i, bad = 0;

	CHECK_LT(seen.n, LINES);
	for (i = 0; i < seen.n; i++)
		bad += seen.line[i].level <= RU_LOG_WARN;
	if (!bad && all == from + to && from == (c->says[rank] & SAYS_READ) &&
	    to == (c->says[rank] & SAYS_WRITE) / SAYS_WRITE)
		return;
	for (i = 0; i < seen.n; i++)
		fprintf(stderr, "rank %d said: %s\n", rank, seen.line[i].text);
	check_failed(__FILE__, __LINE__,
		     "%s: %u lines of warning; of shared memory %u, %u from, "
		     "%u to; wanted %u and %u",
		     c->name, bad, all, from, to, c->says[rank] & SAYS_READ,
		     (c->says[rank] & SAYS_WRITE) / SAYS_WRITE);
}

void denied_check_refusal(int rank, const struct denied_case *c)
{
	unsigned int i, bad = 0, refused = denied_lines_with("contact is refused");

	for (i = 0; i < seen.n && i < LINES; i++)
		bad += seen.line[i].level <= RU_LOG_WARN;
	if (seen.n < LINES && bad == refused && refused == c->says[rank])
		return;
	for (i = 0; i < seen.n && i < LINES; i++)
		fprintf(stderr, "rank %d said: %s\n", rank, seen.line[i].text);
	check_failed(__FILE__, __LINE__,
		     "%s: %u lines of warning, %u of refusal; wanted %u",
		     c->name, bad, refused, c->says[rank]);
}
