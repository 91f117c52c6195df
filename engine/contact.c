/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contact by socket, where /proc/PID/fd of the other is shut (another pid or
 * user namespace, a process that is not dumpable). Each instance listens on
 * an abstract name made of the random token in its slot; who asks connects,
 * sends its own descriptors and adds 1 to the slot's knock word; the owner
 * answers in its next call (wire/contact.h). Both sides check the uid of the
 * other end, and both have each other mapped afterwards.
 *
 * Nobody waits for an answer: what was asked is kept in inst->asks (memory of
 * this file, list under inst->lock, an entry its busy thread's), and whoever
 * asks again, or any later call, looks whether it came.
 *
 * The listening socket and the connections of what was asked lie in
 * inst->watch_fd, so that they also wake who sleeps on a channel: a connection
 * is the doorbell of such peers.
 */
#include <config.h>

#include "engine/channel.h"
#include "engine/presence.h"
#include "engine/process.h"
#include "engine/wire/contact.h"
#include "util/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SEND_WAIT_MS	10		/* for who connected to say why */
#define ASK_TRIES	10		/* of one that lives and hangs up */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif

static socklen_t socket_name(uint64_t token, struct sockaddr_un *un)
{
	int n;

	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	n = snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1,
		     "rosm-%016llx", (unsigned long long)token);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)n);
}

static int socket_new(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		      0);
}

void rosm_contact_init(struct rosm_inst *inst)
{
	struct rosm_wire_dir_inst *e = &inst->dir->insts[inst->slot];
	struct epoll_event ev = { .events = EPOLLIN };
	struct sockaddr_un un;
	socklen_t len;
	uint64_t token;
	int fd;

	inst->contact_fd = -1;
	atomic_store_explicit(&e->token, 0, memory_order_relaxed);
	atomic_store_explicit(
		&inst->knock_seen,
		atomic_load_explicit(&e->knock, memory_order_relaxed),
		memory_order_relaxed);
	if (getrandom(&token, sizeof(token), 0) != sizeof(token) || !token)
		return;
	fd = socket_new();
	if (fd < 0)
		return;
	len = socket_name(token, &un);
	if (bind(fd, (struct sockaddr *)&un, len) || listen(fd, 64) ||
	    epoll_ctl(inst->watch_fd, EPOLL_CTL_ADD, fd, &ev)) {
		RU_INFO("contact", "no socket (errno %d): peers find this "
			"process through /proc only", errno);
		close(fd);
		return;
	}
	rosm_process_fd_add(fd);
	inst->contact_fd = fd;
	atomic_store_explicit(&e->token, token, memory_order_relaxed);
}

/* A question that waits for its answer, or that was answered in vain. */
struct ask {
	struct ru_list link;
	uint64_t who;
	int fd;			/* -1: to be asked (again) */
	int err;		/* answered in vain: why */
	uint32_t round;		/* asks_look() was here */
	uint32_t tries;
	bool busy;		/* a thread looks at it */
};

void rosm_contact_fini(struct rosm_inst *inst)
{
	struct ru_list *l;

	while ((l = ru_list_pop_head(&inst->asks))) {
		struct ask *a = ru_list_entry(l, struct ask, link);

		rosm_process_fd_close(a->fd);
		free(a);
	}
	rosm_process_fd_close(inst->contact_fd);
	inst->contact_fd = -1;
}

/* ---- messages -------------------------------------------------------- */

/* The other end is this user's; *pid_out is 0 where it cannot be seen. */
static int check_user(int fd, pid_t *pid_out)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	if (cred.uid != geteuid()) {
		RU_WARN("contact", "pid %d of uid %u wants contact: refused",
			(int)cred.pid, (unsigned int)cred.uid);
		return -EACCES;
	}
	*pid_out = cred.pid;
	return 0;
}

static bool is_pidfd(int fd)
{
	char path[32], to[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, to, sizeof(to) - 1);
	to[n < 0 ? 0 : n] = 0;
	return !strcmp(to, "anon_inode:[pidfd]");
}

/*
 * The kernel's word first (Linux 6.5); where the other is in sight, by its
 * number; else the one that it sent of itself. Takes sent over; -1: none.
 */
static int peer_pidfd(int fd, pid_t pid, int sent)
{
	int pidfd;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		pidfd = pid > 0 ? ru_pidfd_open(pid) : -1;
	if (pidfd < 0 && sent >= 0 && is_pidfd(sent))
		return sent;
	if (sent >= 0)
		close(sent);
	return pidfd < 0 ? -1 : pidfd;
}

#define FDS	3		/* both segments, and perhaps a pidfd */

union fds_control {
	char buf[CMSG_SPACE(FDS * sizeof(int))];
	struct cmsghdr align;
};

static int send_self(struct rosm_inst *inst, int fd)
{
	struct rosm_wire_contact m = {
		.magic = ROSM_WIRE_MAGIC_CONTACT,
		.version = ROSM_WIRE_VERSION,
		.who = inst->who,
	};
	struct iovec iov = { &m, sizeof(m) };
	union fds_control ctl = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf,
	};
	struct cmsghdr *c;
	int fds[FDS] = { inst->rw.fd, inst->ro.fd, ru_pidfd_open(getpid()) };
	size_t n = fds[2] < 0 ? 2 : 3;
	int rc = 0;

	msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	if (!ru_shm_fd_is_ours(&inst->rw) || !ru_shm_fd_is_ours(&inst->ro))
		rc = -EBADF;
	else if (sendmsg(fd, &msg, MSG_NOSIGNAL) < 0)
		rc = -errno;
	if (fds[2] >= 0)
		close(fds[2]);
	return rc;
}

/* Descriptors that came with a message; closes what is too many or few. */
static int take_fds(struct msghdr *msg, int fds[FDS])
{
	struct cmsghdr *c;
	size_t n, i;
	int fd, got = 0;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int),
			       sizeof(int));
			if (got < FDS)
				fds[got++] = fd;
			else
				close(fd);
		}
	}
	if (got >= 2) {
		fds[2] = got == 3 ? fds[2] : -1;
		return 0;
	}
	if (got == 1)
		close(fds[0]);
	return -EPROTO;
}

/*
 * Take the other's message and map it. want 0: whoever it is. -EAGAIN: no
 * message yet; -ECONNRESET: it went without one.
 */
static int recv_other(struct rosm_inst *inst, int fd, uint64_t want,
		      struct rosm_peer **peer_out)
{
	struct rosm_wire_contact m = { 0 };
	struct iovec iov = { &m, sizeof(m) };
	union fds_control ctl;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf),
	};
	struct rosm_peer_ways w = { .no_proc = true };
	int fds[FDS], rc;
	ssize_t n;

	n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	rc = take_fds(&msg, fds);
	if (rc)
		return rc;
	rc = check_user(fd, &w.pid);
	if (!rc && (n != sizeof(m) || m.magic != ROSM_WIRE_MAGIC_CONTACT ||
		    (want && m.who != want)))
		rc = -EPROTO;
	if (!rc && m.version != ROSM_WIRE_VERSION) {
		rosm_peer_refuse((uint32_t)w.pid, m.version);
		rc = -EPROTO;
	}
	if (!rc) {
		w.who = m.who;
		w.rw_fd = fds[0];
		w.ro_fd = fds[1];
		w.pidfd = peer_pidfd(fd, w.pid, fds[2]);
		fds[2] = -1;
		rc = rosm_peer_adopt(inst, &w, peer_out);
		if (rc && w.pidfd >= 0)
			close(w.pidfd);
	}
	close(fds[0]);
	close(fds[1]);
	if (fds[2] >= 0)
		close(fds[2]);
	return rc;
}

/* Its next call looks at its sockets. */
static void knock_at(struct rosm_inst *inst, uint64_t who)
{
	atomic_fetch_add_explicit(
		&inst->dir->insts[rosm_wire_who_slot(who)].knock, 1,
		memory_order_release);
}

/* ---- the owner's side ------------------------------------------------ */

static void asks_look(struct rosm_inst *inst);

static void answer_one(struct rosm_inst *inst, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct rosm_peer *p = NULL;
	pid_t pid;
	int rc;

	rc = check_user(fd, &pid);
	if (!rc && poll(&pfd, 1, SEND_WAIT_MS) == 1)
		rc = recv_other(inst, fd, 0, &p);
	else if (!rc)
		rc = -EAGAIN;
	if (!rc || rc == -EPROTO)	/* on EPROTO it shall see why, too */
		rc = send_self(inst, fd);
	if (!rc && p)
		knock_at(inst, p->who);
	/* it only woke us, or only introduced itself */
	if (rc && rc != -ECONNRESET && rc != -EPIPE)
		RU_INFO("contact", "pid %d asked in vain (errno %d)", (int)pid,
			-rc);
	close(fd);
}

void rosm_contact_answer(struct rosm_inst *inst)
{
	uint32_t knock = atomic_load_explicit(
		&inst->dir->insts[inst->slot].knock, memory_order_acquire);
	bool any = false;
	int fd;

	atomic_store_explicit(&inst->knock_seen, knock, memory_order_relaxed);
	if (rosm_inst_look_lost(inst))
		return;
	asks_look(inst);
	while (inst->contact_fd >= 0) {
		fd = accept4(inst->contact_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			break;
		answer_one(inst, fd);
		any = true;
	}
	if (any)
		rosm_channels_wake(inst);
}

/* ---- who asks -------------------------------------------------------- */

static int connect_to(struct rosm_inst *inst, uint64_t who)
{
	struct rosm_wire_dir_inst *e = &inst->dir->insts[rosm_wire_who_slot(who)];
	uint64_t token = atomic_load_explicit(&e->token, memory_order_acquire);
	struct sockaddr_un un;
	socklen_t len;
	int fd, rc;

	if (!token)
		return -EACCES;
	fd = socket_new();
	if (fd < 0)
		return -errno;
	len = socket_name(token, &un);
	if (!connect(fd, (struct sockaddr *)&un, len))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* One line for a process that lives and cannot be reached from here. */
static void say_refused(struct rosm_inst *inst, uint64_t who)
{
	uint32_t slot = rosm_wire_who_slot(who);

	if (atomic_exchange_explicit(&inst->refused, who,
				     memory_order_relaxed) == who)
		return;
	RU_WARN("contact", "slot %u (process %u where it runs) cannot be "
		"reached: its /proc is shut to this process, and no socket of "
		"it is here (another network namespace?): contact is refused",
		slot, atomic_load_explicit(&inst->dir->insts[slot].pid,
					   memory_order_relaxed));
}

/* What a failed exchange means: a living one that hangs up is not reached. */
static int why_not(struct rosm_inst *inst, uint64_t who, int rc)
{
	if (rc != -ECONNREFUSED && rc != -ECONNRESET && rc != -EPIPE &&
	    rc != -EPERM && rc != -EACCES)
		return rc;
	if (rosm_peer_dies_soon(inst, who))
		return -ECONNABORTED;
	say_refused(inst, who);
	return -EACCES;
}

/* Our own descriptors are sent; -EAGAIN: its answer may come. */
static int ask_begin(struct rosm_inst *inst, struct ask *a)
{
	struct epoll_event ev = { .events = EPOLLIN };
	pid_t pid;
	int rc;

	rc = connect_to(inst, a->who);
	if (rc < 0)
		return rc;
	a->fd = rc;
	rosm_process_fd_add(a->fd);
	rc = check_user(a->fd, &pid);
	if (rc == -EACCES)	/* has been said */
		atomic_store_explicit(&inst->refused, a->who,
				      memory_order_relaxed);
	if (!rc)
		rc = send_self(inst, a->fd);
	if (!rc && epoll_ctl(inst->watch_fd, EPOLL_CTL_ADD, a->fd, &ev))
		rc = -errno;
	if (rc)
		return rc;
	knock_at(inst, a->who);
	if (!a->tries)
		RU_INFO("contact", "slot %u is asked for its memory by socket: "
			"its /proc is shut to this process",
			rosm_wire_who_slot(a->who));
	return -EAGAIN;
}

/* Whether it was answered, or is known by another way. -EAGAIN: no. */
static int ask_look(struct rosm_inst *inst, struct ask *a,
		    struct rosm_peer **peer_out)
{
	int rc;

	*peer_out = rosm_peer_find(inst, a->who);
	if (*peer_out)		/* it asked us meanwhile */
		return 0;
	rc = a->fd < 0 ? ask_begin(inst, a) :
			 recv_other(inst, a->fd, a->who, peer_out);
	if (rc == -EAGAIN && !rosm_dir_alive(inst->dir, a->who))
		rc = -ECONNABORTED;
	/* it was slow to take what we sent, or could not at that moment */
	if ((rc == -ECONNRESET || rc == -EPIPE) && ++a->tries < ASK_TRIES) {
		rosm_process_fd_close(a->fd);
		a->fd = -1;
		rc = -EAGAIN;
	}
	return rc;
}

/* The entry for who, taken; NULL: another thread has it, or -ENOMEM. */
static struct ask *ask_take(struct rosm_inst *inst, uint64_t who, int *rc_out)
{
	struct ask *a = NULL, *fresh = calloc(1, sizeof(*fresh));
	struct ru_list *l;

	*rc_out = fresh ? -EAGAIN : -ENOMEM;
	ru_lock_acquire(&inst->lock);
	ru_list_for_each(l, &inst->asks) {
		a = ru_list_entry(l, struct ask, link);
		if (a->who == who)
			break;
		a = NULL;
	}
	if (!a && fresh) {
		a = fresh;
		fresh = NULL;
		a->who = who;
		a->fd = -1;
		ru_list_add_tail(&inst->asks, &a->link);
	}
	if (a && a->busy)
		a = NULL;
	if (a)
		a->busy = true;
	ru_lock_release(&inst->lock);
	free(fresh);
	return a;
}

/* Kept for a later look, or over. */
static void ask_put(struct rosm_inst *inst, struct ask *a, bool over)
{
	ru_lock_acquire(&inst->lock);
	a->busy = false;
	if (over)
		ru_list_del(&a->link);
	ru_lock_release(&inst->lock);
	if (!over)
		return;
	rosm_process_fd_close(a->fd);
	free(a);
}

/* All that wait; what failed stays, without its socket, for who asks again. */
static void asks_look(struct rosm_inst *inst)
{
	struct rosm_peer *peer;
	struct ru_list *l;
	struct ask *a;
	uint32_t round;
	int rc;

	ru_lock_acquire(&inst->lock);
	round = ru_list_empty(&inst->asks) ? 0 : ++inst->ask_round;
	ru_lock_release(&inst->lock);
	while (round) {
		a = NULL;
		ru_lock_acquire(&inst->lock);
		ru_list_for_each(l, &inst->asks) {
			a = ru_list_entry(l, struct ask, link);
			if (!a->busy && !a->err && a->round != round)
				break;
			a = NULL;
		}
		if (a) {
			a->busy = true;
			a->round = round;
		}
		ru_lock_release(&inst->lock);
		if (!a)
			return;
		rc = ask_look(inst, a, &peer);
		if (rc && rc != -EAGAIN) {
			a->err = rc;
			rosm_process_fd_close(a->fd);
			a->fd = -1;
		}
		ask_put(inst, a, !rc);
	}
}

int rosm_contact_ask(struct rosm_inst *inst, uint64_t who,
		     struct rosm_peer **peer_out)
{
	struct ask *a;
	int rc;

	if (rosm_inst_look_lost(inst))
		return -ECONNABORTED;
	rosm_contact_serve(inst);
	a = ask_take(inst, who, &rc);
	if (!a)
		return rc;
	rc = a->err ? a->err : ask_look(inst, a, peer_out);
	ask_put(inst, a, rc != -EAGAIN);
	return why_not(inst, who, rc);
}

/*
 * We have mapped it, and it may not open our /proc: without waiting, leave our
 * descriptors where its next call that waits for us (a drain, hazard.c) finds
 * them.
 */
void rosm_contact_introduce(struct rosm_inst *inst, uint64_t who)
{
	pid_t pid;
	int fd = connect_to(inst, who);

	if (fd < 0)
		return;
	if (!check_user(fd, &pid) && !send_self(inst, fd))
		knock_at(inst, who);
	close(fd);
}

/* A connection that asks nothing: the socket becomes readable. */
void rosm_contact_wake(struct rosm_peer *peer)
{
	int fd = connect_to(peer->inst, peer->who);

	if (fd >= 0)		/* EAGAIN: so many wait that it is awake */
		close(fd);
	knock_at(peer->inst, peer->who);
}
