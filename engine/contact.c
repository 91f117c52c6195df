/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contact by socket, where /proc/PID/fd of the other is shut (another pid
 * namespace, a process that is not dumpable). Each instance listens on an
 * abstract name made of the random token in its slot; who asks connects,
 * sends its own descriptors, adds 1 to the slot's knock word and waits; the
 * owner answers in its next call (wire/contact.h). Both sides check the uid
 * of the other end, and both have each other mapped afterwards.
 *
 * The listening socket lies in inst->watch_fd, so that a connection also
 * wakes who sleeps on a channel: that is the doorbell of such peers.
 */
#include <config.h>

#include "engine/presence.h"
#include "engine/process.h"
#include "engine/wire/contact.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ASK_WAIT_NS	2000000000u	/* for the owner's next call */
#define SEND_WAIT_MS	10		/* for who connected to say why */

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

void rosm_contact_fini(struct rosm_inst *inst)
{
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

static int peer_pidfd(int fd, pid_t pid)
{
	int pidfd;
	socklen_t len = sizeof(pidfd);

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		return pidfd;
	pidfd = pid > 0 ? ru_pidfd_open(pid) : -1;
	return pidfd < 0 ? -1 : pidfd;
}

union fds_control {
	char buf[CMSG_SPACE(2 * sizeof(int))];
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
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl.buf, .msg_controllen = sizeof(ctl.buf),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int fds[2] = { inst->rw.fd, inst->ro.fd };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	if (!ru_shm_fd_is_ours(&inst->rw) || !ru_shm_fd_is_ours(&inst->ro))
		return -EBADF;
	return sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Descriptors that came with a message; closes what is too many or few. */
static int take_fds(struct msghdr *msg, int fds[2])
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
			if (got < 2)
				fds[got++] = fd;
			else
				close(fd);
		}
	}
	if (got == 2)
		return 0;
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
	int fds[2], rc;
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
		w.pidfd = peer_pidfd(fd, w.pid);
		rc = rosm_peer_adopt(inst, &w, peer_out);
		if (rc && w.pidfd >= 0)
			close(w.pidfd);
	}
	close(fds[0]);
	close(fds[1]);
	return rc;
}

/* ---- the owner's side ------------------------------------------------ */

static void answer_one(struct rosm_inst *inst, int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct rosm_peer *p;
	pid_t pid;
	int rc;

	rc = check_user(fd, &pid);
	if (!rc && poll(&pfd, 1, SEND_WAIT_MS) == 1)
		rc = recv_other(inst, fd, 0, &p);
	else if (!rc)
		rc = -EAGAIN;
	if (!rc || rc == -EPROTO)	/* on EPROTO it shall see why, too */
		rc = send_self(inst, fd);
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
	int fd;

	atomic_store_explicit(&inst->knock_seen, knock, memory_order_relaxed);
	if (inst->contact_fd < 0 || rosm_inst_look_lost(inst))
		return;
	for (;;) {
		fd = accept4(inst->contact_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		answer_one(inst, fd);
	}
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

static void knock_at(struct rosm_inst *inst, uint64_t who)
{
	atomic_fetch_add_explicit(
		&inst->dir->insts[rosm_wire_who_slot(who)].knock, 1,
		memory_order_release);
}

/*
 * Waits no longer than ASK_WAIT_NS, and answers others meanwhile: two that
 * ask each other at once both get on.
 */
static int wait_answer(struct rosm_inst *inst, int fd, uint64_t who,
		       struct rosm_peer **peer_out)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	uint64_t end = ru_clock_ns() + ASK_WAIT_NS;
	int rc;

	do {
		rosm_contact_answer(inst);
		*peer_out = rosm_peer_find(inst, who);
		if (*peer_out)		/* it asked us meanwhile */
			return 0;
		poll(&pfd, 1, 1);
		rc = recv_other(inst, fd, who, peer_out);
		if (rc != -EAGAIN)
			return rc;
		if (!rosm_dir_alive(inst->dir, who))
			return -ECONNABORTED;
	} while (ru_clock_ns() < end);
	RU_WARN("contact", "slot %u did not answer: its /proc is shut, and it "
		"made no call for %u s", rosm_wire_who_slot(who),
		ASK_WAIT_NS / 1000000000);
	return -EHOSTUNREACH;
}

int rosm_contact_ask(struct rosm_inst *inst, uint64_t who,
		     struct rosm_peer **peer_out)
{
	pid_t pid;
	int fd, rc;

	fd = connect_to(inst, who);
	rc = fd < 0 ? fd : check_user(fd, &pid);
	if (!rc)
		rc = send_self(inst, fd);
	if (!rc) {
		knock_at(inst, who);
		rc = wait_answer(inst, fd, who, peer_out);
	}
	if (fd >= 0)
		close(fd);
	/* A live one that hangs up, or is in another network namespace. */
	if (rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -EPIPE)
		rc = rosm_peer_dies_soon(inst, who) ? -ECONNABORTED : -EACCES;
	return rc;
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
