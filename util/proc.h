/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who a process is and whether it lives. A bare pid is no identity: numbers
 * are reused, differ between namespaces and start again at a reboot.
 *
 * Death is proven by one of two things, after which no store of that process
 * can follow (the kernel frees its memory map first): a pidfd that became
 * readable, or a lock byte that is no longer held. Lock bytes are POSIX
 * record locks: they go when *any* descriptor of the file is closed in the
 * process, so the file is opened once and never closed.
 */
#ifndef RU_PROC_H
#define RU_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ru_proc_id {
	uint64_t boot_hash;	/* of the kernel's boot id */
	uint64_t pidns_ino;	/* inode of the pid namespace */
	uint64_t start_ticks;	/* field 22 of /proc/PID/stat */
	int32_t pid;		/* in that namespace */
	uint32_t reserved;	/* 0 */
};

/*
 * This process; cached, and found anew after a fork. Any thread. 0, or
 * -errno where /proc does not tell.
 */
int ru_proc_self(struct ru_proc_id *id_out);

/*
 * A process as seen from this one. -ESRCH: there is none (or only a zombie's
 * remains without a stat file); -EACCES: its namespace may not be read.
 */
int ru_proc_read(pid_t pid, struct ru_proc_id *id_out);

bool ru_proc_equal(const struct ru_proc_id *a, const struct ru_proc_id *b);

/* Same kernel boot and same pid namespace: its pid means the same to us. */
bool ru_proc_same_pidns(const struct ru_proc_id *a,
			const struct ru_proc_id *b);

/*
 * A pidfd, close-on-exec, of exactly this process: its identity is read again
 * after opening. fd, or -ESRCH (gone, or the number belongs to another),
 * -EXDEV (another namespace or boot), -errno.
 */
int ru_proc_open(const struct ru_proc_id *id);

/*
 * Whether that process may open what /proc/PID/fd of this one shows, by the
 * kernel's own rules (ptrace(2), access mode checking, PTRACE_MODE_READ);
 * security modules may still forbid it. False also where it cannot be told.
 */
bool ru_proc_may_look(pid_t pid);

/* fd or -errno (-ENOSYS before Linux 5.3). */
int ru_pidfd_open(pid_t pid);

/* 1 dead, 0 not yet, -errno. One system call. */
int ru_pidfd_is_dead(int pidfd);

/*
 * Takes the byte for this process: 0, also if it has it already; -EAGAIN
 * when another process does; -errno. Never waits.
 */
int ru_lockbyte_take(int fd, off_t off);
int ru_lockbyte_drop(int fd, off_t off);

/*
 * 1 when another process holds the byte, 0 when none does (or this one),
 * -errno.
 */
int ru_lockbyte_held(int fd, off_t off);

#endif
