/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The process block, its note and its fork handlers; see process.h.
 *
 * rosm_process_block is what a copy offers as home; only the home's is used.
 * The pointer to the home is cached per copy; two threads that race to fill
 * it find the same block.
 */
#include <config.h>

#include "engine/process.h"

#include "engine/dirpriv.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/log.h"

extern struct rosm_process rosm_process_block;
struct rosm_process rosm_process_block
	__attribute__((used, visibility("hidden"))) = {
	.bytes = sizeof(struct rosm_process),
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

#define STR_(x)	#x
#define STR(x)	STR_(x)

/* name size, payload size, type, name, payload: all are multiples of 4 */
__asm__("	.pushsection .note.rosm, \"a\", %note\n"
	"	.balign 4\n"
	"	.long 5, 8, " STR(ROSM_PROCESS_LAYOUT) "\n"
	"	.asciz \"rosm\"\n"
	"	.balign 4\n"
	"	.quad rosm_process_block - .\n"
	"	.popsection\n");

struct search {
	struct rosm_process *home;
	unsigned int other_layout;	/* of a block we cannot share */
};

static void search_notes(struct search *s, const char *p, size_t len)
{
	const ElfW(Nhdr) *n;
	size_t name_len, desc_len;
	int64_t rel;

	while (len >= sizeof(*n)) {
		n = (const ElfW(Nhdr) *)p;
		name_len = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		desc_len = ((size_t)n->n_descsz + 3) & ~(size_t)3;
		if (name_len > len - sizeof(*n) ||
		    desc_len > len - sizeof(*n) - name_len)
			return;
		p += sizeof(*n);
		if (n->n_namesz == 5 && !memcmp(p, "rosm", 5) &&
		    n->n_descsz == sizeof(rel)) {
			if (n->n_type != ROSM_PROCESS_LAYOUT) {
				s->other_layout = n->n_type;
			} else if (!s->home) {
				memcpy(&rel, p + name_len, sizeof(rel));
				s->home = (struct rosm_process *)
					((uintptr_t)p + name_len +
					 (uintptr_t)rel);
			}
		}
		p += name_len + desc_len;
		len -= sizeof(*n) + name_len + desc_len;
	}
}

static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			search_notes(arg, (const char *)info->dlpi_addr +
					     info->dlpi_phdr[i].p_vaddr,
				     info->dlpi_phdr[i].p_memsz);
	return 0;
}

static struct rosm_process *home_find(void)
{
	static _Atomic(struct rosm_process *) found;
	struct search s = { 0 };
	struct rosm_process *p;

	p = atomic_load_explicit(&found, memory_order_acquire);
	if (p)
		return p;
	dl_iterate_phdr(search_object, &s);
	if (s.other_layout) {
		RU_ERR("process", "another rosm library in this process has "
		       "layout %u, this one %u: they cannot work together",
		       s.other_layout, (unsigned int)ROSM_PROCESS_LAYOUT);
		return NULL;
	}
	/* An object without program headers (static, stripped): our own. */
	p = s.home ? s.home : &rosm_process_block;
	atomic_store_explicit(&found, p, memory_order_release);
	return p;
}

/* ---- fork ------------------------------------------------------------ */

/* The home as the handlers see it; set before they are registered. */
static struct rosm_process *fork_home;

static bool same_file(const struct rosm_process_fd *f)
{
	struct stat st;

	return !fstat(f->fd, &st) && st.st_dev == f->dev &&
	       st.st_ino == f->ino;
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&fork_home->lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&fork_home->lock);
}

static void fork_child(void)
{
	struct rosm_process *p = fork_home;
	size_t i;

	for (i = 0; i < p->fd_count; i++)
		if (same_file(&p->fds[i]))
			close(p->fds[i].fd);
	p->fd_count = 0;
	for (i = 0; i < ROSM_PROCESS_SLOTS; i++)
		atomic_store_explicit(&p->held[i], 0, memory_order_relaxed);
	p->held_count = 0;
	if (p->dir)
		rosm_dir_child(p->dir);
	p->dir = NULL;
	pthread_mutex_init(&p->lock, NULL);
}

static void hook(struct rosm_process *p)
{
	rosm_process_lock(p);
	if (!atomic_load_explicit(&p->hooked, memory_order_relaxed)) {
		fork_home = p;
		if (!pthread_atfork(fork_prepare, fork_parent, fork_child))
			atomic_store_explicit(&p->hooked, true,
					      memory_order_release);
	}
	rosm_process_unlock(p);
}

struct rosm_process *rosm_process_get(void)
{
	struct rosm_process *p = home_find();

	if (!p)
		return NULL;
	if (ru_unlikely(!atomic_load_explicit(&p->hooked,
					      memory_order_acquire)))
		hook(p);
	return atomic_load_explicit(&p->hooked, memory_order_relaxed) ? p :
									NULL;
}

int rosm_process_at_fork(void (*prepare)(void), void (*parent)(void),
			 void (*child)(void))
{
	return -pthread_atfork(prepare, parent, child);
}

void rosm_process_blank(void *base, size_t len)
{
	if (base && len)
		mmap(base, len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
		     MAP_FIXED_NOREPLACE, -1, 0);
}

/* ---- slots and descriptors ------------------------------------------- */

bool rosm_process_holds(uint64_t who)
{
	struct rosm_process *p = rosm_process_get();
	uint32_t i;

	if (!p || !who)
		return false;
	for (i = 0; i < ROSM_PROCESS_SLOTS; i++)
		if (atomic_load_explicit(&p->held[i], memory_order_acquire) ==
		    who)
			return true;
	return false;
}

int rosm_process_hold_locked(struct rosm_process *p, uint64_t who)
{
	uint32_t i;

	for (i = 0; i < ROSM_PROCESS_SLOTS; i++) {
		if (atomic_load_explicit(&p->held[i], memory_order_relaxed))
			continue;
		atomic_store_explicit(&p->held[i], who, memory_order_release);
		p->held_count++;
		return 0;
	}
	return -ENOSPC;
}

void rosm_process_unhold_locked(struct rosm_process *p, uint64_t who)
{
	uint32_t i;

	for (i = 0; i < ROSM_PROCESS_SLOTS; i++) {
		if (atomic_load_explicit(&p->held[i], memory_order_relaxed) !=
		    who)
			continue;
		atomic_store_explicit(&p->held[i], 0, memory_order_release);
		p->held_count--;
		return;
	}
}

static void fd_add_locked(struct rosm_process *p, int fd)
{
	struct rosm_process_fd *more;
	struct stat st;
	size_t room, i;

	if (fstat(fd, &st))
		return;
	for (i = 0; i < p->fd_count; i++)
		if (p->fds[i].fd == fd) {
			p->fds[i].dev = st.st_dev;
			p->fds[i].ino = st.st_ino;
			return;
		}
	if (p->fd_count == p->fd_room) {
		room = p->fd_room ? 2 * p->fd_room : 32;
		more = realloc(p->fds, room * sizeof(*more));
		if (!more)	/* a fork child keeps it: harmless */
			return;
		p->fds = more;
		p->fd_room = room;
	}
	p->fds[p->fd_count++] = (struct rosm_process_fd){
		.fd = fd, .dev = st.st_dev, .ino = st.st_ino };
}

void rosm_process_fd_add(int fd)
{
	struct rosm_process *p = rosm_process_get();

	if (!p || fd < 0)
		return;
	rosm_process_lock(p);
	fd_add_locked(p, fd);
	rosm_process_unlock(p);
}

bool rosm_process_fd_is_ours(int fd)
{
	struct rosm_process *p = rosm_process_get();
	bool ours = false;
	size_t i;

	if (!p || fd < 0)
		return false;
	rosm_process_lock(p);
	for (i = 0; i < p->fd_count && !ours; i++)
		ours = p->fds[i].fd == fd && same_file(&p->fds[i]);
	rosm_process_unlock(p);
	return ours;
}

void rosm_process_fd_close(int fd)
{
	struct rosm_process *p = rosm_process_get();
	bool ours = false;
	size_t i;

	if (!p || fd < 0)
		return;
	rosm_process_lock(p);
	for (i = 0; i < p->fd_count; i++) {
		if (p->fds[i].fd != fd)
			continue;
		/* Programs that close everything close ours, too. */
		ours = same_file(&p->fds[i]);
		p->fds[i] = p->fds[--p->fd_count];
		break;
	}
	if (ours)
		close(fd);
	rosm_process_unlock(p);
}
