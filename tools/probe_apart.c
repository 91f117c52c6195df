/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that the kernel keeps apart: how they come into contact, and
 * whether one may copy to and from the other's memory. For each case two
 * children are put into their states, told of each other, and try what rosm
 * would: /proc/PID/fd, a socket in the abstract name space, cross-memory
 * attach both ways. A child that has to be in a pid namespace is a grandchild.
 *
 * Both live until the parent has both results; alarm(2) ends them if it is
 * gone.
 */
#include <config.h>

#include "tools/probe_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEADLINE_S = 10 };

enum how { NO_DUMP = 1, NEW_USER = 2, NEW_PID = 4, NEW_NET = 8 };

/* What a child tells of itself. */
struct card {
	int err;		/* errno of what kept it from its state */
	int memfd;
	pid_t pid;		/* in its own namespace */
	uint64_t pid_ns;
};

/* errno of what it tried on the other, 0: it worked. */
struct sight {
	int proc;
	int sock;
	int readv;
	int writev;
};

/* At the same address in every child of this process. */
static long secret = 1;

struct ends {
	int tell;		/* to the parent: card, then sight */
	int hear;		/* from it: the other's card; then its end */
};

/* ---- a child --------------------------------------------------------- */

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

static int enter_user(void)
{
	char uid[48], gid[48];
	int err;

	snprintf(uid, sizeof(uid), "%u %u 1", geteuid(), geteuid());
	snprintf(gid, sizeof(gid), "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWUSER))
		return errno;
	err = put("/proc/self/setgroups", "deny");
	if (!err)
		err = put("/proc/self/uid_map", uid);
	return err ? err : put("/proc/self/gid_map", gid);
}

static int enter(unsigned int how)
{
	int err = how & NEW_USER ? enter_user() : 0;

	if (err)
		return err;
	if (how & NEW_PID && unshare(CLONE_NEWPID))
		return errno;
	return how & NEW_NET && unshare(CLONE_NEWNET) ? errno : 0;
}

static socklen_t name_of(int side, pid_t parent, struct sockaddr_un *un)
{
	int n;

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	n = snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1,
		     "rosm-probe-%d-%d", (int)parent, side);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)n);
}

/* The socket's pid, as it looks from here; 0: out of sight. */
static int try_socket(int side, pid_t parent, pid_t *pid_out)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), err = 0;
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	struct sockaddr_un un;

	if (fd < 0)
		return errno;
	if (connect(fd, (struct sockaddr *)&un, name_of(side, parent, &un)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		err = errno;
	else if (cred.uid != geteuid())
		err = EACCES;
	close(fd);
	*pid_out = cred.pid;
	return err;
}

static int try_copy(pid_t pid, bool write)
{
	long value = 1;
	struct iovec here = { &value, sizeof(value) };
	struct iovec there = { &secret, sizeof(secret) };
	ssize_t n;

	if (pid <= 0)
		return ESRCH;
	n = write ? process_vm_writev(pid, &here, 1, &there, 1, 0) :
		    process_vm_readv(pid, &here, 1, &there, 1, 0);
	return n == (ssize_t)sizeof(value) ? 0 : errno ? errno : EIO;
}

static int try_proc(const struct card *me, const struct card *other)
{
	char path[64];
	int fd, err = 0;

	if (me->pid_ns != other->pid_ns)
		return EXDEV;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)other->pid,
		 other->memfd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		err = errno;
	else
		close(fd);
	return err;
}

/* In its state; does not return. */
static void be_there(int side, pid_t parent, struct card me, struct ends e)
{
	struct sockaddr_un un;
	struct sight s = { 0 };
	struct card other;
	struct stat st;
	pid_t pid = 0;
	int fd;
	char c;

	alarm(DEADLINE_S);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    bind(fd, (struct sockaddr *)&un, name_of(side, parent, &un)) ||
	    listen(fd, 4))
		me.err = me.err ? me.err : errno;
	me.memfd = memfd_create("rosm-probe", MFD_CLOEXEC);
	me.pid = getpid();
	me.pid_ns = stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
	if (write(e.tell, &me, sizeof(me)) != sizeof(me) ||
	    read(e.hear, &other, sizeof(other)) != sizeof(other))
		_exit(1);
	s.proc = try_proc(&me, &other);
	s.sock = try_socket(!side, parent, &pid);
	if (!s.proc)
		pid = other.pid;
	s.readv = try_copy(pid, false);
	s.writev = try_copy(pid, true);
	if (write(e.tell, &s, sizeof(s)) != sizeof(s))
		_exit(1);
	while (read(e.hear, &c, 1) < 0 && errno == EINTR)
		continue;
	_exit(0);
}

static void child(int side, pid_t parent, unsigned int how, struct ends e)
{
	struct card me = { .err = enter(how) };
	pid_t pid = 0;

	if (how & NEW_PID && !me.err)
		pid = fork();
	if (pid > 0) {
		close(e.tell);
		close(e.hear);
		waitpid(pid, NULL, 0);
		_exit(0);
	}
	if (pid < 0)
		me.err = errno;
	if (how & NO_DUMP && prctl(PR_SET_DUMPABLE, 0))
		me.err = errno;
	be_there(side, parent, me, e);
}

/* ---- both ------------------------------------------------------------ */

struct half {
	pid_t pid;
	struct ends e;		/* the parent's */
};

static int start(struct half *h, int side, unsigned int how)
{
	int up[2], down[2];

	if (pipe2(up, O_CLOEXEC))
		return errno;
	if (pipe2(down, O_CLOEXEC)) {
		close(up[0]);
		close(up[1]);
		return errno;
	}
	h->pid = fork();
	if (!h->pid) {
		close(up[0]);
		close(down[1]);
		child(side, getppid(), how,
		      (struct ends){ .tell = up[1], .hear = down[0] });
	}
	close(up[1]);
	close(down[0]);
	h->e = (struct ends){ .tell = down[1], .hear = up[0] };
	return h->pid < 0 ? errno : 0;
}

static void stop(struct half *h)
{
	if (h->pid > 0) {
		close(h->e.tell);
		waitpid(h->pid, NULL, 0);
		close(h->e.hear);
	}
}

static int exchange(struct half h[2], struct sight s[2])
{
	struct card card[2];
	int i;

	for (i = 0; i < 2; i++)
		if (read(h[i].e.hear, &card[i], sizeof(card[i])) !=
		    sizeof(card[i]))
			return EIO;
		else if (card[i].err)
			return card[i].err;
	for (i = 0; i < 2; i++)
		if (write(h[i].e.tell, &card[!i], sizeof(card[i])) !=
		    sizeof(card[i]))
			return EIO;
	for (i = 0; i < 2; i++)
		if (read(h[i].e.hear, &s[i], sizeof(s[i])) != sizeof(s[i]))
			return EIO;
	return 0;
}

static int first_error(const struct sight s[2])
{
	int i;

	for (i = 0; i < 2; i++)
		if (s[i].readv || s[i].writev)
			return s[i].readv ? s[i].readv : s[i].writev;
	return 0;
}

static void tell(struct probe_result *r, const struct sight s[2])
{
	bool proc = !s[0].proc && !s[1].proc;
	bool met = proc || !s[0].sock || !s[1].sock;
	bool none = s[0].readv && s[0].writev && s[1].readv && s[1].writev;
	int err = first_error(s);
	const char *contact = proc ? "contact by /proc" :
			      "contact by socket, in the other's next call";

	if (!met)
		probe_say(r, PROBE_NO, "no contact (%s, %s)",
			  strerror(s[0].proc), strerror(s[0].sock));
	else if (!err)
		probe_say(r, proc ? PROBE_YES : PROBE_LIMITED,
			  "%s; data is copied directly", contact);
	else
		probe_say(r, PROBE_LIMITED, "%s; data %s (%s)", contact,
			  none ? "goes through shared memory, in the calls of both" :
				 "is copied by the side that may, else through shared memory",
			  err == ESRCH ? "its pid is hidden" : strerror(err));
}

static void apart(struct probe_result *r, unsigned int first,
		  unsigned int second)
{
	struct half h[2] = { { .pid = -1 }, { .pid = -1 } };
	struct sight s[2];
	int err;

	/* these come with a user namespace for who may not make them alone */
	if (geteuid() && (first | second) & (NEW_PID | NEW_NET)) {
		first |= NEW_USER;
		second |= NEW_USER;
	}
	err = start(&h[0], 0, first);
	if (!err)
		err = start(&h[1], 1, second);
	if (!err)
		err = exchange(h, s);
	/* the second has the first's pipes: it has to end before */
	stop(&h[1]);
	stop(&h[0]);
	if (err)
		probe_say(r, PROBE_LIMITED, "could not be tried: %s",
			  strerror(err));
	else
		tell(r, s);
}

void probe_apart_dump(struct probe_result *r)
{
	apart(r, 0, NO_DUMP);
}

void probe_apart_user(struct probe_result *r)
{
	apart(r, 0, NEW_USER);
}

void probe_apart_users(struct probe_result *r)
{
	apart(r, NEW_USER, NEW_USER);
}

void probe_apart_pids(struct probe_result *r)
{
	apart(r, NEW_PID, NEW_PID);
}

void probe_apart_nets(struct probe_result *r)
{
	apart(r, NEW_PID | NEW_NET, NEW_PID | NEW_NET);
}
