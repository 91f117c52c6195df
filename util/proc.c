/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Identity and liveness of processes: see proc.h. This process's own identity
 * is cached in words that any thread may fill, all with the same values; the
 * pid is stored last and says that the others are there. It is void after a
 * fork: the handler clears it, and where a child came to be without handlers
 * the pid differs.
 */
#include <config.h>

#include "util/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open	434
#endif

/* Own identity; pid 0 while unknown. */
static struct {
	_Atomic uint64_t boot_hash;
	_Atomic uint64_t pidns_ino;
	_Atomic uint64_t start_ticks;
	_Atomic pid_t pid;
} self;

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Bytes read, NUL-terminated, or -errno. */
static ssize_t read_file(const char *path, char *buf, size_t bytes)
{
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, bytes - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		n = -errno;
	else
		buf[n] = '\0';
	close(fd);
	return n;
}

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

static int read_boot_hash(uint64_t *hash_out)
{
	char text[64];
	ssize_t n;

	n = read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	if (n < 0)
		return (int)n;
	*hash_out = hash_text(text);
	return 0;
}

static int read_pidns(const char *who, uint64_t *ino_out)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/pid", who);
	if (stat(path, &st))
		return errno == ENOENT ? -ESRCH : -errno;
	*ino_out = st.st_ino;
	return 0;
}

/* Field 22. Field 2, the name in parentheses, may hold anything. */
static int read_start_ticks(const char *who, uint64_t *ticks_out)
{
	char path[64], text[1024];
	const char *p;
	ssize_t n;
	int field;

	snprintf(path, sizeof(path), "/proc/%s/stat", who);
	n = read_file(path, text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	p = strrchr(text, ')');
	for (field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	if (!p)
		return -EPROTO;
	*ticks_out = strtoull(p, NULL, 10);
	return 0;
}

static int read_id(const char *who, pid_t pid, struct ru_proc_id *id_out)
{
	struct ru_proc_id id = { .pid = pid };
	int rc;

	rc = read_boot_hash(&id.boot_hash);
	if (!rc)
		rc = read_pidns(who, &id.pidns_ino);
	if (!rc)
		rc = read_start_ticks(who, &id.start_ticks);
	if (!rc)
		*id_out = id;
	return rc;
}

static void forget_self(void)
{
	atomic_store_explicit(&self.pid, 0, memory_order_relaxed);
}

static void watch_forks(void)
{
	/* Without memory for it the comparison of pids is left. */
	(void)pthread_atfork(NULL, NULL, forget_self);
}

int ru_proc_self(struct ru_proc_id *id_out)
{
	pid_t pid = getpid();
	struct ru_proc_id id;
	int rc;

	pthread_once(&fork_once, watch_forks);
	if (atomic_load_explicit(&self.pid, memory_order_acquire) == pid) {
		*id_out = (struct ru_proc_id){
			.boot_hash = self.boot_hash,
			.pidns_ino = self.pidns_ino,
			.start_ticks = self.start_ticks,
			.pid = pid,
		};
		return 0;
	}
	rc = read_id("self", pid, &id);
	if (rc)
		return rc;
	self.boot_hash = id.boot_hash;
	self.pidns_ino = id.pidns_ino;
	self.start_ticks = id.start_ticks;
	atomic_store_explicit(&self.pid, pid, memory_order_release);
	*id_out = id;
	return 0;
}

int ru_proc_read(pid_t pid, struct ru_proc_id *id_out)
{
	char who[16];

	if (pid <= 0)
		return -EINVAL;
	snprintf(who, sizeof(who), "%d", (int)pid);
	return read_id(who, pid, id_out);
}

bool ru_proc_equal(const struct ru_proc_id *a, const struct ru_proc_id *b)
{
	return a->boot_hash == b->boot_hash && a->pidns_ino == b->pidns_ino &&
	       a->start_ticks == b->start_ticks && a->pid == b->pid;
}

bool ru_proc_same_pidns(const struct ru_proc_id *a,
			const struct ru_proc_id *b)
{
	return a->boot_hash == b->boot_hash && a->pidns_ino == b->pidns_ino;
}

/* What of a process decides who may look at it, and at whom it may look. */
struct sight {
	ino_t userns;
	unsigned int uid[4];		/* real, effective, saved, file system */
	unsigned int gid[4];
	unsigned long long permitted;	/* capabilities */
	unsigned long long effective;
};

static bool read_sight(const char *who, struct sight *s_out)
{
	char path[64], text[4096];
	const char *uid, *gid, *prm, *eff;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/user", who);
	if (stat(path, &st))
		return false;
	s_out->userns = st.st_ino;
	snprintf(path, sizeof(path), "/proc/%s/status", who);
	if (read_file(path, text, sizeof(text)) < 0)
		return false;
	uid = strstr(text, "\nUid:");
	gid = strstr(text, "\nGid:");
	prm = strstr(text, "\nCapPrm:");
	eff = strstr(text, "\nCapEff:");
	return uid && gid && prm && eff &&
	       sscanf(uid, " Uid: %u %u %u %u", &s_out->uid[0],
		      &s_out->uid[1], &s_out->uid[2], &s_out->uid[3]) == 4 &&
	       sscanf(gid, " Gid: %u %u %u %u", &s_out->gid[0],
		      &s_out->gid[1], &s_out->gid[2], &s_out->gid[3]) == 4 &&
	       sscanf(prm, " CapPrm: %llx", &s_out->permitted) == 1 &&
	       sscanf(eff, " CapEff: %llx", &s_out->effective) == 1;
}

/* The looker's file system id is all three of the looked-at. */
static bool same_ids(const unsigned int looker[4], const unsigned int id[4])
{
	return looker[3] == id[0] && looker[3] == id[1] && looker[3] == id[2];
}

bool ru_proc_may_look(pid_t pid)
{
	const unsigned long long ptrace = 1ull << 19;	/* CAP_SYS_PTRACE */
	struct sight me, it;
	char who[16];

	snprintf(who, sizeof(who), "%d", (int)pid);
	if (!read_sight("self", &me) || !read_sight(who, &it) ||
	    me.userns != it.userns)
		return false;
	if (it.effective & ptrace)
		return true;
	return prctl(PR_GET_DUMPABLE) == 1 && same_ids(it.uid, me.uid) &&
	       same_ids(it.gid, me.gid) && !(me.permitted & ~it.effective);
}

int ru_pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;	/* close-on-exec by itself */
}

int ru_proc_open(const struct ru_proc_id *id)
{
	struct ru_proc_id own;
	uint64_t ticks;
	char who[16];
	int fd, rc;

	rc = ru_proc_self(&own);
	if (rc)
		return rc;
	if (!ru_proc_same_pidns(id, &own))
		return -EXDEV;
	if (id->pid <= 0)
		return -ESRCH;
	fd = ru_pidfd_open(id->pid);
	if (fd < 0)
		return fd;
	/* While the pidfd's process lives the number is not reused. */
	snprintf(who, sizeof(who), "%d", (int)id->pid);
	rc = read_start_ticks(who, &ticks);
	if (!rc && ticks != id->start_ticks)
		rc = -ESRCH;
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}

int ru_pidfd_is_dead(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int rc;

	do
		rc = poll(&p, 1, 0);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -errno;
	if (p.revents & POLLNVAL)
		return -EBADF;
	return (p.revents & POLLIN) != 0;
}

static struct flock byte_at(off_t off, short type)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = off,
		.l_len = 1,
	};
}

static int set_byte(int fd, off_t off, short type)
{
	struct flock lock = byte_at(off, type);

	if (!fcntl(fd, F_SETLK, &lock))
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

int ru_lockbyte_take(int fd, off_t off)
{
	return set_byte(fd, off, F_WRLCK);
}

int ru_lockbyte_drop(int fd, off_t off)
{
	return set_byte(fd, off, F_UNLCK);
}

int ru_lockbyte_held(int fd, off_t off)
{
	struct flock lock = byte_at(off, F_WRLCK);

	if (fcntl(fd, F_GETLK, &lock))
		return -errno;
	return lock.l_type != F_UNLCK;
}
