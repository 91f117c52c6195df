/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two children of this process, first and second, try on each other and on
 * their parent what two MPI ranks would: copy memory (CMA), open a memfd and
 * a pipe through /proc/PID/fd. They are forked once, for all probes.
 *
 * The first waits until its end of a pipe is closed; the second tries, writes
 * what it found (errno, 0 for success) and ends. Both end by alarm(2) if the
 * parent is gone.
 */
#include <config.h>

#include "tools/probe_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEADLINE_S = 10 };

struct found {
	int ran;		/* errno of what kept the trial from running */
	int cma_child;		/* errno of each trial, 0: it worked */
	int cma_parent;
	int cma_sibling;
	int fd_child;
	int fd_sibling;
	int pipe_sibling;
};

/* What the first child tells when it is ready. */
struct ready {
	int memfd;
	int pipe;
};

/* Read by others, at the same address in every child of this process. */
static long secret = 1;

static int copy_secret(pid_t pid, long expected)
{
	long value = 0;
	struct iovec local = { &value, sizeof(value) };
	struct iovec remote = { &secret, sizeof(secret) };

	if (process_vm_readv(pid, &local, 1, &remote, 1, 0) !=
	    (ssize_t)sizeof(value))
		return errno ? errno : EIO;
	if (value != expected)
		return EIO;
	/* the same back: filters may forbid only one of the two */
	if (process_vm_writev(pid, &local, 1, &remote, 1, 0) !=
	    (ssize_t)sizeof(value))
		return errno ? errno : EIO;
	return 0;
}

static int open_fd(pid_t pid, int fd, int flags)
{
	char path[64];
	int err = 0, there;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	there = open(path, flags | O_CLOEXEC);
	if (there < 0)
		err = errno;
	else
		close(there);
	return err;
}

static void first(int ready_fd, int go_fd)
{
	struct ready ready;
	int p[2];
	char c;

	alarm(DEADLINE_S);
	secret = 2;
	ready.memfd = memfd_create("rosm-probe", MFD_CLOEXEC);
	ready.pipe = pipe2(p, O_CLOEXEC | O_NONBLOCK) ? -1 : p[1];
	if (write(ready_fd, &ready, sizeof(ready)) != sizeof(ready))
		_exit(1);
	while (read(go_fd, &c, 1) < 0 && errno == EINTR)
		continue;
	_exit(0);
}

static void second(int result_fd, pid_t sibling, struct ready ready)
{
	struct found found = { 0 };

	alarm(DEADLINE_S);
	found.cma_parent = copy_secret(getppid(), 1);
	found.cma_sibling = copy_secret(sibling, 2);
	found.fd_sibling = open_fd(sibling, ready.memfd, O_RDWR);
	found.pipe_sibling = open_fd(sibling, ready.pipe, O_RDWR | O_NONBLOCK);
	if (write(result_fd, &found, sizeof(found)) != sizeof(found))
		_exit(1);
	_exit(0);
}

/* With the first child ready: the second's trials, then our own. */
static void try_pair(struct found *found, pid_t pid, struct ready ready)
{
	int result[2];
	pid_t other;

	if (pipe2(result, O_CLOEXEC)) {
		found->ran = errno;
		return;
	}
	other = fork();
	if (other == 0)
		second(result[1], pid, ready);
	close(result[1]);
	if (other < 0)
		found->ran = errno;
	else if (read(result[0], found, sizeof(*found)) != sizeof(*found))
		found->ran = EIO;
	close(result[0]);
	if (other > 0)
		waitpid(other, NULL, 0);
	found->cma_child = copy_secret(pid, 2);
	found->fd_child = open_fd(pid, ready.memfd, O_RDWR);
}

static struct found run_pair(void)
{
	struct found found = { 0 };
	struct ready told;
	int ready[2], go[2];
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC)) {
		found.ran = errno;
		return found;
	}
	if (pipe2(go, O_CLOEXEC)) {
		found.ran = errno;
		goto out_ready;
	}
	pid = fork();
	if (pid < 0) {
		found.ran = errno;
		goto out_go;
	}
	if (pid == 0) {
		close(go[1]);
		first(ready[1], go[0]);
	}
	close(ready[1]);
	ready[1] = -1;
	if (read(ready[0], &told, sizeof(told)) == sizeof(told))
		try_pair(&found, pid, told);
	else
		found.ran = EIO;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
out_go:
	close(go[0]);
	close(go[1]);
out_ready:
	close(ready[0]);
	if (ready[1] >= 0)
		close(ready[1]);
	return found;
}

static const struct found *pair(void)
{
	static struct found found;
	static int done;

	if (!done)
		found = run_pair();
	done = 1;
	return &found;
}

/* " (kernel.yama.ptrace_scope is 1)" where that may be the reason, or "". */
static const char *yama(void)
{
	static char text[64];
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!f)
		return "";
	if (fscanf(f, "%d", &scope) != 1)
		scope = 0;
	fclose(f);
	if (!scope)
		return "";
	snprintf(text, sizeof(text), " (kernel.yama.ptrace_scope is %d)",
		 scope);
	return text;
}

static void say(struct probe_result *r, int err, const char *good,
		const char *hint)
{
	if (pair()->ran)
		probe_say(r, PROBE_NO, "could not be tried: %s",
			  strerror(pair()->ran));
	else if (err)
		probe_say(r, PROBE_NO, "%s%s", strerror(err),
			  err == EPERM ? hint : "");
	else
		probe_say(r, PROBE_YES, "%s", good);
}

#define CMA_GOOD "process_vm_readv and _writev copy in one step"
#define FD_GOOD "a peer's memory is found without its help"

void probe_cma_child(struct probe_result *r)
{
	say(r, pair()->cma_child, CMA_GOOD, yama());
}

void probe_cma_parent(struct probe_result *r)
{
	say(r, pair()->cma_parent, CMA_GOOD, yama());
}

void probe_cma_sibling(struct probe_result *r)
{
	say(r, pair()->cma_sibling, CMA_GOOD, yama());
}

void probe_fd_child(struct probe_result *r)
{
	say(r, pair()->fd_child, FD_GOOD, "");
}

void probe_fd_sibling(struct probe_result *r)
{
	say(r, pair()->fd_sibling, FD_GOOD, "");
}

void probe_pipe_sibling(struct probe_result *r)
{
	say(r, pair()->pipe_sibling, "a peer's sleep can be ended", "");
}
