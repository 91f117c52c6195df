/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory's file: found, created, cleaned away; slots claimed, released
 * and proven dead. Key tables are in dirkeys.c, the layout in
 * engine/wire/directory.h and docs/shm-layout.md.
 *
 * One struct rosm_dir lives in the process block (engine/process.h), guarded
 * by its lock; its fd is never closed while a slot is held, since closing any
 * descriptor of the file would let all lock bytes go. Where a file was cleaned
 * away under a process that held nothing, the struct stays behind (another
 * thread may be reading it) and a new one is made.
 */
#include <config.h>

#include "engine/directory.h"

#include "engine/dirpriv.h"
#include "engine/process.h"
#include "engine/rosm.h"
#include "util/env.h"
#include "util/fault.h"
#include "util/log.h"
#include "util/proc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define INIT_WAIT_MS	5000	/* for another process that creates it */
#define OPEN_TRIES	100

/* ROSM_DIR/rosm-UID.dir, or rosm-UID-NODE.dir on a simulated node. */
int rosm_dir_path(char *buf, size_t len)
{
	const char *node = ru_param_find("ROSM_NODE") ?
			   ru_param_str("ROSM_NODE") : "";
	int n;

	n = snprintf(buf, len, "%s/rosm-%u%s%s.dir", ru_param_str("ROSM_DIR"),
		     (unsigned int)geteuid(), *node ? "-" : "", node);
	if (n < 0 || (size_t)n >= len)
		return -ENAMETOOLONG;
	for (buf += (size_t)n - 4 - strlen(node); *node; node++, buf++)
		if (!isalnum((unsigned char)*buf) && !strchr("._-", *buf))
			*buf = '_';
	return 0;
}

static void pause_ms(long ms)
{
	struct timespec ts = { .tv_nsec = ms * 1000000 };

	nanosleep(&ts, NULL);
}

/* The byte that who creates or removes the file holds. */
static int init_lock(int fd)
{
	int i, rc;

	for (i = 0; i < INIT_WAIT_MS; i++) {
		rc = ru_lockbyte_take(fd, ROSM_DIR_LOCK_INIT);
		if (rc != -EAGAIN)
			return rc;
		pause_ms(1);
	}
	return -EAGAIN;
}

static int check_file(const char *path, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_uid != geteuid() ||
	    (st->st_mode & 077)) {
		RU_ERR("dir", "%s is not a file of this user alone (uid %u, "
		       "mode %o)", path, (unsigned int)st->st_uid,
		       (unsigned int)st->st_mode & 07777);
		return -EACCES;
	}
	return 0;
}

/* 0 ours, 1 not made yet, -EPROTO with a line. */
static int check_head(const char *path, int fd, off_t size)
{
	struct {
		uint64_t magic;
		uint32_t version;
		uint32_t size_bytes;
	} head = { 0 };

	if (pread(fd, &head, sizeof(head), 0) < 0)
		return -errno;
	if (size == 0 || (size == ROSM_DIR_SIZE && !head.magic))
		return 1;
	if (head.magic == ROSM_WIRE_MAGIC_DIR &&
	    head.version != ROSM_WIRE_VERSION) {
		RU_WARN("dir", "%s is of wire version %u, this process speaks "
			"%u: end its users, then run `rosm clean`", path,
			head.version, ROSM_WIRE_VERSION);
		return -EPROTO;
	}
	if (head.magic != ROSM_WIRE_MAGIC_DIR || size != ROSM_DIR_SIZE ||
	    head.size_bytes != ROSM_DIR_SIZE) {
		RU_WARN("dir", "%s is no directory of rosm", path);
		return -EPROTO;
	}
	return 0;
}

/*
 * Blocks are allocated at once, so that a full file system is -ENOSPC here
 * and not a SIGBUS at some later access. A file system that cannot
 * allocate leaves it sparse.
 */
static int make_blocks(int fd)
{
	struct rlimit lim;

	/* Beyond the limit ftruncate would raise SIGXFSZ. */
	if (!getrlimit(RLIMIT_FSIZE, &lim) && lim.rlim_cur != RLIM_INFINITY &&
	    lim.rlim_cur < ROSM_DIR_SIZE)
		return -EFBIG;
	if (RU_FAIL_POINT("dir.blocks"))
		return -ENOSPC;
	if (ftruncate(fd, ROSM_DIR_SIZE))
		return -errno;
	if (fallocate(fd, 0, 0, ROSM_DIR_SIZE) && errno != EOPNOTSUPP &&
	    errno != ENOSYS)
		return -errno;
	return 0;
}

static int map_file(int fd, struct rosm_dir *dir)
{
	struct stat st;
	char *m;

	if (fstat(fd, &st))
		return -errno;
	m = RU_FAIL_POINT("dir.map") ? MAP_FAILED :
	    mmap(NULL, ROSM_DIR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 0);
	if (m == MAP_FAILED)
		return -ENOMEM;
	madvise(m, ROSM_DIR_SIZE, MADV_DONTFORK);
	madvise(m, ROSM_DIR_SIZE, MADV_DONTDUMP);
	dir->fd = fd;
	dir->dev = st.st_dev;
	dir->ino = st.st_ino;
	dir->map = m;
	dir->head = (void *)m;
	dir->insts = (void *)(m + ROSM_DIR_INST_OFF);
	dir->qpns = (void *)(m + ROSM_DIR_QPN_OFF);
	dir->names = (void *)(m + ROSM_DIR_NAME_OFF);
	dir->totals = (void *)(m + ROSM_DIR_ENDED_OFF);
	dir->ended = (void *)(m + ROSM_DIR_RING_OFF);
	return 0;
}

/*
 * Holds the init byte. If the creator stops anywhere before the last store,
 * magic is 0 and the next process starts again; tables are zero or, after
 * an interrupted clean, in use: they stay as they are.
 */
static int create_content(struct rosm_dir *dir)
{
	struct rosm_wire_dir_head *h = dir->head;
	uint8_t id[sizeof(h->node_id)], none[sizeof(id)] = { 0 };

	if (getrandom(id, sizeof(id), 0) != sizeof(id))
		return -EIO;
	RU_KILL_POINT("dir.create");
	if (!memcmp(h->node_id, none, sizeof(none)))
		memcpy(h->node_id, id, sizeof(id));
	atomic_store_explicit(&h->version, ROSM_WIRE_VERSION,
			      memory_order_relaxed);
	atomic_store_explicit(&h->size_bytes, ROSM_DIR_SIZE,
			      memory_order_relaxed);
	RU_KILL_POINT("dir.create.magic");
	atomic_store_explicit(&h->magic, ROSM_WIRE_MAGIC_DIR,
			      memory_order_seq_cst);
	return 0;
}

/* fd is open and ours; -EAGAIN: it was cleaned away meanwhile. */
static int open_content(const char *path, int fd, struct rosm_dir *dir)
{
	struct stat st;
	bool locked = false;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	rc = check_file(path, &st);
	/*
	 * In a user namespace one number may stand for many users, and the mode
	 * may have been another when it was opened: only its owner may do this.
	 */
	if (!rc && fchmod(fd, st.st_mode & 0700) && errno == EPERM) {
		RU_ERR("dir", "%s is another user's", path);
		rc = -EACCES;
	}
	if (!rc)
		rc = check_head(path, fd, st.st_size);
	if (rc > 0) {
		rc = init_lock(fd);
		if (rc)
			return rc;
		locked = true;
		rc = fstat(fd, &st) ? -errno : !st.st_nlink ? -EAGAIN :
		     check_head(path, fd, st.st_size);
		if (rc > 0) {
			rc = make_blocks(fd);
			if (!rc)
				rc = map_file(fd, dir);
			if (!rc)
				rc = create_content(dir);
			goto out;
		}
	}
	if (!rc)
		rc = map_file(fd, dir);
out:
	if (locked)
		ru_lockbyte_drop(fd, ROSM_DIR_LOCK_INIT);
	if (rc && dir->map) {
		munmap(dir->map, ROSM_DIR_SIZE);
		dir->map = NULL;
	}
	return rc;
}

/* This process holds no slot here, so that closing an fd lets nothing go. */
static int dir_open(bool create, struct rosm_dir **dir_out)
{
	struct rosm_dir *dir;
	char path[4096];
	int fd, i, rc;

	rc = rosm_dir_path(path, sizeof(path));
	if (rc)
		return rc;
	dir = RU_FAIL_POINT("dir.alloc") ? NULL : calloc(1, sizeof(*dir));
	if (!dir)
		return -ENOMEM;
	for (i = 0; i < OPEN_TRIES; i++) {
		fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC |
				(create ? O_CREAT : 0), 0600);
		if (fd < 0) {
			rc = errno == ELOOP ? -EACCES : -errno;
			if (rc != -ENOENT || create)
				RU_ERR("dir", "%s cannot be opened: %s", path,
				       strerror(-rc));
			break;
		}
		rc = open_content(path, fd, dir);
		if (!rc) {
			*dir_out = dir;
			return 0;
		}
		close(fd);
		if (rc != -EAGAIN)
			break;
	}
	free(dir);
	return rc;
}

bool rosm_dir_is_ours(const struct rosm_dir *dir)
{
	struct stat st;

	return !fstat(dir->fd, &st) && st.st_dev == dir->dev &&
	       st.st_ino == dir->ino;
}

/*
 * Cleaned away (or being looked at by who cleans), or closed by the program:
 * nothing of ours is in it.
 */
static bool dir_is_stale(const struct rosm_process *p)
{
	return !p->held_count &&
	       (atomic_load_explicit(&p->dir->head->magic,
				     memory_order_acquire) !=
			ROSM_WIRE_MAGIC_DIR ||
		!rosm_dir_is_ours(p->dir));
}

/* Where there is none any more, the stale one stays. */
static int dir_renew(struct rosm_process *p, bool create)
{
	struct rosm_dir *old = p->dir;
	int rc = dir_open(create, &p->dir);

	if (rc || !old)
		return rc;
	if (rosm_dir_is_ours(old))
		close(old->fd);
	old->fd = -1;
	p->dir->older = old;
	return 0;
}

static int dir_get(bool create, struct rosm_dir **dir_out)
{
	struct rosm_process *p = rosm_process_get();
	int rc = 0;

	if (!p)
		return -EPROTO;
	rosm_process_lock(p);
	if (!p->dir || dir_is_stale(p))
		rc = dir_renew(p, create);
	if (!rc)
		*dir_out = p->dir;
	rosm_process_unlock(p);
	return rc;
}

int rosm_dir_get(struct rosm_dir **dir_out)
{
	return dir_get(true, dir_out);
}

int rosm_dir_look(struct rosm_dir **dir_out)
{
	return dir_get(false, dir_out);
}

/* In a fork child: lock bytes are the parent's, so the fd may go. */
void rosm_dir_child(struct rosm_dir *dir)
{
	if (rosm_dir_is_ours(dir))
		close(dir->fd);
	dir->fd = -1;
	rosm_process_blank(dir->map, ROSM_DIR_SIZE);
}

/* ---- slots ----------------------------------------------------------- */

static off_t lock_off(uint32_t slot)
{
	return (off_t)(ROSM_DIR_LOCK_BASE + slot);
}

static bool held_slot(const struct rosm_process *p, uint32_t slot)
{
	uint64_t who;
	uint32_t i;

	for (i = 0; i < ROSM_PROCESS_SLOTS; i++) {
		who = atomic_load_explicit(&p->held[i], memory_order_relaxed);
		if (who && rosm_wire_who_slot(who) == slot)
			return true;
	}
	return false;
}

static uint32_t next_generation(const struct rosm_wire_dir_inst *e)
{
	uint32_t gen = atomic_load_explicit(&e->gen, memory_order_relaxed);

	gen = (gen + 1) & ROSM_WIRE_GEN_MASK;
	return gen ? gen : 1;
}

/*
 * Have the lock byte. If we stop before gen is stored, the former generation
 * lies there without a holder: dead, as it is. After it: a generation that
 * nobody ever names.
 */
static void new_generation(struct rosm_wire_dir_inst *e, uint32_t gen)
{
	atomic_store_explicit(&e->state, 0, memory_order_relaxed);
	RU_KILL_POINT("dir.claim.gen");
	atomic_store_explicit(&e->gen, gen, memory_order_release);
}

static int claim_locked(struct rosm_process *p, struct rosm_dir *dir,
			uint32_t *slot_out, uint32_t *gen_out)
{
	uint32_t slot, gen;
	int rc;

	if (p->held_count == ROSM_PROCESS_SLOTS || RU_FAIL_POINT("dir.claim"))
		return -ENOSPC;
	if (!rosm_dir_is_ours(dir))	/* closed by us, or by the program */
		return p->held_count ? -EBADF : -EAGAIN;
	for (slot = 0; slot < ROSM_WIRE_INSTANCES; slot++) {
		if (held_slot(p, slot))
			continue;
		rc = ru_lockbyte_take(dir->fd, lock_off(slot));
		if (rc == -EAGAIN)
			continue;
		if (rc)
			return rc == -EBADF ? -EAGAIN : rc;
		RU_KILL_POINT("dir.claim.locked");
		if (atomic_load_explicit(&dir->head->magic,
					 memory_order_seq_cst) !=
		    ROSM_WIRE_MAGIC_DIR) {
			ru_lockbyte_drop(dir->fd, lock_off(slot));
			return -EAGAIN;
		}
		gen = next_generation(&dir->insts[slot]);
		/* first: its threads look without the lock */
		rosm_process_hold_locked(p, rosm_wire_who(slot, gen));
		new_generation(&dir->insts[slot], gen);
		*slot_out = slot;
		*gen_out = gen;
		return 0;
	}
	RU_ERR("dir", "all %u slots are in use", ROSM_WIRE_INSTANCES);
	return -ENOSPC;
}

int rosm_dir_claim(struct rosm_dir *dir, uint32_t *slot_out, uint32_t *gen_out)
{
	struct rosm_process *p = rosm_process_get();
	int rc;

	if (!p)
		return -EPROTO;
	rosm_process_lock(p);
	rc = claim_locked(p, dir, slot_out, gen_out);
	rosm_process_unlock(p);
	return rc;
}

void rosm_dir_release(struct rosm_dir *dir, uint32_t slot, uint32_t gen)
{
	struct rosm_process *p = rosm_process_get();
	uint64_t who = rosm_wire_who(slot, gen);

	if (!p)
		return;
	rosm_process_lock(p);
	if (rosm_process_holds(who) && !rosm_dir_is_ours(dir)) {
		/* the slot may be another's by now */
		rosm_process_unhold_locked(p, who);
	} else if (rosm_process_holds(who)) {
		atomic_store_explicit(&dir->insts[slot].state, 2,
				      memory_order_release);
		RU_KILL_POINT("dir.release");
		rosm_process_unhold_locked(p, who);
		ru_lockbyte_drop(dir->fd, lock_off(slot));
	}
	rosm_process_unlock(p);
}

bool rosm_dir_alive(struct rosm_dir *dir, uint64_t who)
{
	uint32_t slot = rosm_wire_who_slot(who);
	struct rosm_wire_dir_inst *e = &dir->insts[slot];

	if (!rosm_wire_who_gen(who) ||
	    atomic_load_explicit(&e->gen, memory_order_acquire) !=
		    rosm_wire_who_gen(who) ||
	    atomic_load_explicit(&e->state, memory_order_acquire) == 2)
		return false;
	if (rosm_process_holds(who))
		return true;
	/* An error proves nothing, nor does what is said of another file. */
	return ru_lockbyte_held(dir->fd, lock_off(slot)) != 0 ||
	       !rosm_dir_is_ours(dir);
}

/* ---- rosm clean ------------------------------------------------------ */

/* Whether any process but this one holds the lock byte of a slot. */
static int any_slot_held(int fd)
{
	struct flock fl = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = ROSM_DIR_LOCK_BASE,
		.l_len = ROSM_WIRE_INSTANCES,
	};

	if (fcntl(fd, F_GETLK, &fl))
		return -errno;
	return fl.l_type != F_UNLCK;
}

/*
 * Who claims takes its lock byte and then reads magic; this stores 0 and then
 * looks for lock bytes: one of the two sees the other. Stopped in between,
 * magic stays 0 until the next opener, which finds the tables intact.
 */
static int clean_locked(int fd, const char *path)
{
	_Atomic uint64_t *magic = MAP_FAILED;
	uint64_t was = 0;
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	if (!st.st_nlink)
		return -ENOENT;
	if (st.st_size >= (off_t)sizeof(*magic)) {
		magic = mmap(NULL, sizeof(*magic), PROT_READ | PROT_WRITE,
			     MAP_SHARED, fd, 0);
		if (magic == MAP_FAILED)
			return -ENOMEM;
		was = atomic_exchange_explicit(magic, 0, memory_order_seq_cst);
	}
	RU_KILL_POINT("dir.clean");
	rc = any_slot_held(fd);
	if (rc > 0)
		rc = -EBUSY;
	if (!rc && unlink(path))
		rc = -errno;
	if (magic == MAP_FAILED)
		return rc;
	if (rc)
		atomic_store_explicit(magic, was, memory_order_seq_cst);
	munmap(magic, sizeof(*magic));
	return rc;
}

int rosm_dir_clean(void)
{
	struct rosm_process *p = rosm_process_get();
	char path[4096];
	struct stat st;
	int fd, rc;

	if (!p)
		return -EPROTO;
	rc = rosm_dir_path(path, sizeof(path));
	if (rc)
		return rc;
	rosm_process_lock(p);
	if (p->held_count) {
		rc = -EBUSY;
		goto unlock;
	}
	fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		rc = errno == ELOOP ? -EACCES : -errno;
		goto unlock;
	}
	rc = fstat(fd, &st) ? -errno : check_file(path, &st);
	if (!rc)
		rc = init_lock(fd);
	if (!rc)
		rc = clean_locked(fd, path);
	close(fd);		/* lets the init byte go */
unlock:
	rosm_process_unlock(p);
	return rc;
}
