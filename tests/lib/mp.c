/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workers, their links and their end. The parent owns struct mp; workers have
 * a copy-on-write copy, and only struct mp_shared is common (a shared anonymous
 * mapping, made before the forks). Each pair of ranks, the parent included, has
 * one stream socket pair; a worker closes the ends that are not its own, so
 * that a read sees the end of its peer. The deadline is a timer signal in the
 * parent: it fires also when the parent itself hangs in a call. The keeper, a
 * child in a session of its own, removes the directory when the parent ends
 * without mp_finish(), however that came.
 */
#include <config.h>

#include "tests/lib/mp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/lib/assert.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

enum { ANY_END = -1 };	/* in expect[]: the group has failed already */

struct mp_shared {
	_Atomic pid_t pid[MP_MAX];
	_Atomic int expect[MP_MAX];	/* signal it must end by, 0, or: */
	_Atomic unsigned arrived, phase; /* mp_barrier() */
};

struct mp {
	int n, self;
	pid_t parent;
	struct mp_shared *sh;
	int link[MP_MAX + 1];	/* my end to rank i; the parent is [n] */
	int pidfd[MP_MAX];	/* parent only */
	int ended[MP_MAX];	/* parent only: reaped */
	timer_t timer;
	pid_t keeper;
	char dir[192];
	char *old_dir;
};

/* The one group of this process; the timer's handler reads it. */
static struct mp *mp_current;

static const int caught[] = {
	SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM, SIGTERM, SIGINT,
};

void check_failed(const char *file, int line, const char *fmt, ...)
{
	char msg[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	fflush(stdout);
	if (mp_current && mp_current->self != MP_PARENT)
		fprintf(stderr, "%s:%d: rank %d (pid %d): %s\n", file, line,
			mp_current->self, (int)getpid(), msg);
	else
		fprintf(stderr, "%s:%d: %s\n", file, line, msg);
	fflush(stderr);
	_exit(1);
}

uint64_t mp_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void nap_us(long us)
{
	struct timespec ts = { .tv_nsec = us * 1000 };

	nanosleep(&ts, NULL);
}

/* The state letter of /proc/PID/stat; async-signal-safe. 0 if it is gone. */
static char proc_state(pid_t pid)
{
	char path[32] = "/proc/", digits[12], buf[256], *p;
	size_t len = strlen(path), i = 0;
	ssize_t got;
	int fd;

	do {
		digits[i++] = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	while (i)
		path[len++] = digits[--i];
	memcpy(path + len, "/stat", sizeof("/stat"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (got <= 0)
		return 0;
	buf[got] = 0;
	p = strrchr(buf, ')');
	return p && p[1] ? p[2] : 0;
}

static void say(const char *s)
{
	if (write(STDERR_FILENO, s, strlen(s)) < 0)
		return;
}

/* The deadline has passed: name who still runs, kill all, end. */
static void on_deadline(int sig)
{
	struct mp *mp = mp_current;
	char line[] = "mp: deadline passed; rank 00 still runs, state ?\n";
	char *num = strstr(line, "00"), *state = strchr(line, '?');
	int i, any = 0;

	(void)sig;
	if (!mp || getpid() != mp->parent)
		return;
	for (i = 0; i < mp->n; i++) {
		char c = mp->ended[i] ? 0 : proc_state(mp->sh->pid[i]);

		if (!c || c == 'Z')
			continue;
		num[0] = (char)('0' + i / 10);
		num[1] = (char)('0' + i % 10);
		*state = c;
		say(line);
		any = 1;
	}
	if (!any)
		say("mp: deadline passed; only the parent still runs\n");
	for (i = 0; i < mp->n; i++)
		if (!mp->ended[i])
			kill(mp->sh->pid[i], SIGKILL);
	for (i = 0; i < mp->n; i++)
		if (!mp->ended[i])
			waitpid(mp->sh->pid[i], NULL, 0);
	_exit(1);
}

void mp_deadline(struct mp *mp, unsigned seconds)
{
	const char *env = getenv("ROSM_TEST_SLOWER");
	long factor = env ? strtol(env, NULL, 10) : 1;
	struct itimerspec its = {
		.it_value.tv_sec = seconds * (factor > 0 ? factor : 1),
	};

	CHECK_EQ(mp->self, MP_PARENT);
	CHECK_OK(timer_settime(mp->timer, 0, &its, NULL));
}

unsigned mp_soak_s(void)
{
	const char *env = getenv("ROSM_SOAK");
	long seconds = env ? strtol(env, NULL, 10) : 0;

	return seconds > 0 ? (unsigned)seconds : 0;
}

static void watchdog_start(struct mp *mp)
{
	struct sigaction sa = { .sa_handler = on_deadline };
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGRTMAX,
	};

	CHECK_OK(sigaction(SIGRTMAX, &sa, NULL));
	CHECK_OK(timer_create(CLOCK_MONOTONIC, &ev, &mp->timer));
	mp_deadline(mp, MP_DEADLINE_S);
}

static void dir_create(struct mp *mp)
{
	const char *old = getenv("ROSM_DIR"), *tmp = getenv("TMPDIR");

	mp->old_dir = old ? strdup(old) : NULL;
	/* Inside the one of run-test, which removes it if this program cannot. */
	CHECK_LT(snprintf(mp->dir, sizeof(mp->dir), "%s/group.XXXXXX",
			  old && *old ? old : "/dev/shm"), sizeof(mp->dir));
	if (!mkdtemp(mp->dir)) {
		CHECK_LT(snprintf(mp->dir, sizeof(mp->dir),
				  "%s/rosm-test.XXXXXX", tmp ? tmp : "/tmp"),
			 sizeof(mp->dir));
		CHECK(mkdtemp(mp->dir) != NULL);
	}
	CHECK_OK(setenv("ROSM_DIR", mp->dir, 1));
}

static int dir_remove(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			if (unlinkat(dirfd(d), e->d_name, 0) < 0)
				fprintf(stderr, "mp: %s/%s: %s\n", dir,
					e->d_name, strerror(errno));
	if (d)
		closedir(d);
	return rmdir(dir);
}

static void dir_restore(struct mp *mp)
{
	dir_remove(mp->dir);
	if (mp->old_dir)
		setenv("ROSM_DIR", mp->old_dir, 1);
	else
		unsetenv("ROSM_DIR");
	free(mp->old_dir);
}

/*
 * Before there are links: it must not hold an end of one. Killed workers may
 * be in the middle of a call that makes a file, hence the second looks.
 */
static void keeper_start(struct mp *mp)
{
	struct pollfd pfd = { .fd = pidfd_open(getpid(), 0), .events = POLLIN };
	int i;

	CHECK_GE(pfd.fd, 0);
	fflush(NULL);
	mp->keeper = fork();
	CHECK_GE(mp->keeper, 0);
	if (mp->keeper) {
		close(pfd.fd);
		return;
	}
	setsid();	/* what is sent to the test's group does not end it */
	if (pfd.fd != STDERR_FILENO + 1)
		dup2(pfd.fd, STDERR_FILENO + 1);
	pfd.fd = STDERR_FILENO + 1;
	close_range(STDERR_FILENO + 2, ~0U, 0);
	while (poll(&pfd, 1, -1) < 0 && errno == EINTR)
		;
	for (i = 0; i < 100 && dir_remove(mp->dir) && errno != ENOENT; i++)
		nap_us(10000);
	_exit(0);
}

static void keeper_stop(struct mp *mp)
{
	kill(mp->keeper, SIGKILL);
	waitpid(mp->keeper, NULL, 0);
}

static _Noreturn void worker_main(struct mp *mp, int rank, mp_fn fn, void *arg)
{
	size_t i;
	int rc;

	mp->self = rank;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != mp->parent)
		_exit(1);
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		signal(caught[i], SIG_DFL);
	rc = fn(mp, rank, arg);
	fflush(NULL);
	if (rc)
		fprintf(stderr, "mp: rank %d (pid %d) returned %d\n", rank,
			(int)getpid(), rc);
#ifdef __SANITIZE_ADDRESS__
	if (!rc && __lsan_do_recoverable_leak_check())
		rc = 1;
#endif
	_exit(rc ? 1 : 0);
}

static void end_all(struct mp *mp)
{
	int i;

	for (i = 0; i < mp->n; i++)
		if (!mp->ended[i]) {
			kill(mp->sh->pid[i], SIGKILL);
			mp->sh->expect[i] = ANY_END;
		}
}

struct mp *mp_start(int n, mp_fn fn, void *arg)
{
	int ends[MP_MAX + 1][MP_MAX + 1];
	struct rlimit rl;
	struct mp *mp;
	pid_t pid;
	int i, j, r;

	CHECK_GE(n, 1);
	CHECK_LE(n, MP_MAX);
	if (mp_current) {	/* its test was left by a failed assertion */
		end_all(mp_current);
		mp_finish(mp_current);
	}
	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	mp = calloc(1, sizeof(*mp));
	CHECK(mp != NULL);
	mp->n = n;
	mp->self = MP_PARENT;
	mp->parent = getpid();
	mp->sh = mmap(NULL, sizeof(*mp->sh), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mp->sh != MAP_FAILED);
	dir_create(mp);
	keeper_start(mp);
	for (i = 0; i <= n; i++) {
		ends[i][i] = -1;
		for (j = 0; j < i; j++) {
			int sv[2];

			CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					    0, sv));
			ends[i][j] = sv[0];
			ends[j][i] = sv[1];
		}
	}
	fflush(NULL);
	mp_current = mp;
	for (r = 0; r < n; r++) {
		pid = fork();
		CHECK_GE(pid, 0);
		if (!pid) {
			for (i = 0; i <= n; i++)
				for (j = 0; j <= n; j++)
					if (i != r && i != j)
						close(ends[i][j]);
			memcpy(mp->link, ends[r], sizeof(mp->link));
			/* The pids of all are known before any work starts. */
			if (read(mp->link[n], &i, sizeof(i)) != sizeof(i))
				_exit(1);
			worker_main(mp, r, fn, arg);
		}
		mp->sh->pid[r] = pid;
		mp->pidfd[r] = pidfd_open(pid, 0);
		CHECK_GE(mp->pidfd[r], 0);
	}
	for (i = 0; i < n; i++)
		for (j = 0; j <= n; j++)
			if (i != j)
				close(ends[i][j]);
	memcpy(mp->link, ends[n], sizeof(mp->link));
	watchdog_start(mp);
	for (r = 0; r < n; r++)
		CHECK_EQ(send(mp->link[r], &r, sizeof(r), MSG_NOSIGNAL),
			 sizeof(r));
	return mp;
}

int mp_wait(struct mp *mp, int rank)
{
	int status;
	pid_t pid;

	CHECK_EQ(mp->self, MP_PARENT);
	CHECK(!mp->ended[rank]);
	do
		pid = waitpid(mp->sh->pid[rank], &status, 0);
	while (pid < 0 && errno == EINTR);
	CHECK_EQ(pid, mp->sh->pid[rank]);
	mp->ended[rank] = 1;
	close(mp->pidfd[rank]);
	mp->pidfd[rank] = -1;
	return status;
}

/* Did it end as it should? Says how not. */
static int judge(struct mp *mp, int rank, int status)
{
	int want = mp->sh->expect[rank];

	if (want == ANY_END ||
	    (WIFSIGNALED(status) && WTERMSIG(status) == want))
		return 0;
	if (want && WIFEXITED(status))
		fprintf(stderr, "mp: rank %d ended with status %d, wanted %s\n",
			rank, WEXITSTATUS(status), strsignal(want));
	else if (WIFSIGNALED(status))
		fprintf(stderr, "mp: rank %d ended by signal: %s\n", rank,
			strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		fprintf(stderr, "mp: rank %d ended with status %d\n", rank,
			WEXITSTATUS(status));
	else
		return 0;
	return -1;
}

int mp_finish(struct mp *mp)
{
	struct pollfd pfd[MP_MAX];
	int i, rc = 0, left;

	CHECK_EQ(mp->self, MP_PARENT);
	for (;;) {
		for (left = i = 0; i < mp->n; i++) {
			pfd[i] = (struct pollfd){ .fd = mp->pidfd[i],
						  .events = POLLIN };
			left += !mp->ended[i];
		}
		if (!left)
			break;
		if (poll(pfd, (nfds_t)mp->n, -1) < 0) {
			CHECK_EQ(errno, EINTR);
			continue;
		}
		for (i = 0; i < mp->n; i++)
			if (!mp->ended[i] && pfd[i].revents &&
			    judge(mp, i, mp_wait(mp, i))) {
				rc = -1;
				end_all(mp);
			}
	}
	timer_delete(mp->timer);
	mp_current = NULL;
	for (i = 0; i < mp->n; i++)
		close(mp->link[i]);
	keeper_stop(mp);
	dir_restore(mp);
	munmap(mp->sh, sizeof(*mp->sh));
	free(mp);
	return rc;
}

int mp_run(int n, mp_fn fn, void *arg)
{
	return mp_finish(mp_start(n, fn, arg));
}

int mp_size(const struct mp *mp)
{
	return mp->n;
}

pid_t mp_pid(const struct mp *mp, int rank)
{
	return rank == MP_PARENT ? mp->parent : mp->sh->pid[rank];
}

const char *mp_dir(const struct mp *mp)
{
	return mp->dir;
}

static int link_of(struct mp *mp, int rank)
{
	CHECK_GE(rank, MP_PARENT);
	CHECK_LT(rank, mp->n);
	CHECK_NE(rank, mp->self);
	return mp->link[rank == MP_PARENT ? mp->n : rank];
}

void mp_send(struct mp *mp, int to, const void *buf, size_t len)
{
	int fd = link_of(mp, to);
	uint64_t head = len;
	const char *p = (const char *)&head;
	size_t left = sizeof(head);
	ssize_t got;
	int part;

	for (part = 0; part < 2; part++, p = buf, left = len)
		while (left) {
			got = send(fd, p, left, MSG_NOSIGNAL);
			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0)
				check_failed(__FILE__, __LINE__,
					     "mp_send to rank %d: %s", to,
					     strerror(errno));
			p += got;
			left -= (size_t)got;
		}
}

static ssize_t read_all(int fd, void *buf, size_t len, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char *p = buf;
	ssize_t got;
	int rc;

	while (len) {
		do
			rc = poll(&pfd, 1, timeout_ms);
		while (rc < 0 && errno == EINTR);
		if (!rc)
			return -ETIMEDOUT;
		got = read(fd, p, len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got && errno != ECONNRESET ? -errno : -EPIPE;
		p += got;
		len -= (size_t)got;
	}
	return 0;
}

ssize_t mp_recv_timeout(struct mp *mp, int from, void *buf, size_t size,
			int timeout_ms)
{
	int fd = link_of(mp, from);
	uint64_t len;
	ssize_t rc;

	rc = read_all(fd, &len, sizeof(len), timeout_ms);
	if (rc)
		return rc;
	if (len > size)
		check_failed(__FILE__, __LINE__,
			     "mp_recv from rank %d: %llu bytes came, room for %zu",
			     from, (unsigned long long)len, size);
	rc = read_all(fd, buf, len, -1);
	return rc ? rc : (ssize_t)len;
}

size_t mp_recv(struct mp *mp, int from, void *buf, size_t size)
{
	ssize_t rc = mp_recv_timeout(mp, from, buf, size, -1);

	if (rc < 0)
		check_failed(__FILE__, __LINE__, "mp_recv from rank %d: %s",
			     from, rc == -EPIPE ? "it has ended" :
						  strerror((int)-rc));
	return (size_t)rc;
}

void mp_barrier(struct mp *mp)
{
	unsigned phase = atomic_load(&mp->sh->phase);

	CHECK_NE(mp->self, MP_PARENT);
	if (atomic_fetch_add(&mp->sh->arrived, 1) + 1 == (unsigned)mp->n) {
		atomic_store(&mp->sh->arrived, 0);
		atomic_fetch_add(&mp->sh->phase, 1);
		return;
	}
	while (atomic_load(&mp->sh->phase) == phase)
		nap_us(50);
}

void mp_expect_signal(struct mp *mp, int rank, int sig)
{
	mp->sh->expect[rank] = sig;
}

void mp_kill(struct mp *mp, int rank)
{
	mp_expect_signal(mp, rank, SIGKILL);
	if (mp->self != MP_PARENT || !mp->ended[rank])
		kill(mp->sh->pid[rank], SIGKILL);
}

void mp_stop(struct mp *mp, int rank)
{
	pid_t pid = mp->sh->pid[rank];
	char c;

	CHECK_OK(kill(pid, SIGSTOP));
	while ((c = proc_state(pid)) != 'T') {
		CHECK(c != 0 && c != 'Z');
		nap_us(200);
	}
}

void mp_cont(struct mp *mp, int rank)
{
	CHECK_OK(kill(mp->sh->pid[rank], SIGCONT));
}
