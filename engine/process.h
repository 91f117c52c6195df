/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process block: what must exist once a process, however many copies of
 * this engine are loaded into it (each face links its own, with hidden
 * visibility).
 *
 * Every object that links the engine carries an ELF note of owner "rosm",
 * whose type is ROSM_PROCESS_LAYOUT and whose payload is the distance from
 * the payload to that copy's block. The block of the first such object in
 * link-map order is the home, which all copies use. Objects are linked with
 * -z nodelete, so a home stays.
 *
 * The block is guarded by its own mutex, which is taken across fork. In a fork
 * child the block forgets slots and directory and closes the descriptors
 * named to it: nothing of the parent's life hangs on the child.
 */
#ifndef ROSM_PROCESS_H
#define ROSM_PROCESS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rosm_dir;

/* Changes with struct rosm_process and with struct rosm_dir. */
#define ROSM_PROCESS_LAYOUT	3
#define ROSM_PROCESS_SLOTS	16	/* instances of one process */

struct rosm_process_fd {
	int fd;
	uint64_t dev;			/* whose number it was when named */
	uint64_t ino;
};

struct rosm_process {
	uint32_t bytes;			/* of this struct */
	atomic_bool hooked;		/* fork handlers are registered */
	pthread_mutex_t lock;
	struct rosm_dir *dir;		/* directory.c; NULL: not opened yet */
	uint32_t held_count;
	/* who: lock bytes we have, 0 none; changes under the lock only */
	_Atomic uint64_t held[ROSM_PROCESS_SLOTS];
	struct rosm_process_fd *fds;	/* to be closed in a fork child */
	size_t fd_count;
	size_t fd_room;
};

/*
 * The home block, its fork handlers registered. NULL when a copy of another
 * layout is loaded (one log line): two blocks would each take the other's
 * lock bytes for free ones.
 */
struct rosm_process *rosm_process_get(void);

static inline void rosm_process_lock(struct rosm_process *p)
{
	pthread_mutex_lock(&p->lock);
}

static inline void rosm_process_unlock(struct rosm_process *p)
{
	pthread_mutex_unlock(&p->lock);
}

/* Whether an instance of this process has that identity; takes no lock. */
bool rosm_process_holds(uint64_t who);

/*
 * Hold or let go of a slot; lock held. -ENOSPC past ROSM_PROCESS_SLOTS. Held
 * before others may see its generation, and until they see that it ended:
 * the kernel says of one's own lock byte that nobody has it.
 */
int rosm_process_hold_locked(struct rosm_process *p, uint64_t who);
void rosm_process_unhold_locked(struct rosm_process *p, uint64_t who);

/*
 * Name a descriptor that a fork child must not keep (memfds, pipes, sockets,
 * pidfds, epolls). Closing it takes rosm_process_fd_close(). In the child it
 * is closed unless the program gave its number to another file meanwhile.
 */
void rosm_process_fd_add(int fd);
/* What was not named, or was named by the parent of a fork, stays open. */
void rosm_process_fd_close(int fd);
/* Named, and still the same file: the program may have closed everything. */
bool rosm_process_fd_is_ours(int fd);

/*
 * What this copy does around a fork: prepare and parent may be NULL. Called
 * after the block's own child handler. Once per copy.
 */
int rosm_process_at_fork(void (*prepare)(void), void (*parent)(void),
			 void (*child)(void));

/*
 * For fork children: zero pages where a mapping of the parent's was, so that
 * stale objects read "invalid" and write to nobody.
 */
void rosm_process_blank(void *base, size_t len);

#endif
