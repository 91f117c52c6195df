/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments: see shm.h. Everything here is a slow path. The descriptor is used
 * only after a look at whether it still is ours; where it is not, commit and
 * release go through the mapping instead.
 */
#include <config.h>

#include "util/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/compiler.h"
#include "util/fault.h"
#include "util/log.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE	0x0010
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

/* fallocate() undoes its work when a signal comes: keep the pieces small. */
#define COMMIT_PIECE	((size_t)8 << 20)

size_t ru_page_size(void)
{
	static _Atomic size_t page;
	size_t v = atomic_load_explicit(&page, memory_order_relaxed);

	if (ru_unlikely(!v)) {
		v = (size_t)sysconf(_SC_PAGESIZE);
		atomic_store_explicit(&page, v, memory_order_relaxed);
	}
	return v;
}

static int open_memfd(const char *name)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd;

	/* Some systems insist on it; Linux before 6.3 does not know it. */
	fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

/*
 * Past RLIMIT_FSIZE the kernel sends SIGXFSZ besides failing, and its default
 * is to kill: the signal is blocked meanwhile and taken off the thread.
 */
static int set_size(int fd, size_t size)
{
	const struct timespec at_once = { 0 };
	sigset_t xfsz, before, pending;
	bool was_pending;
	int rc = 0;

	sigemptyset(&xfsz);
	sigaddset(&xfsz, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &xfsz, &before);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGXFSZ);
	while (ftruncate(fd, (off_t)size)) {
		rc = -errno;
		if (rc != -EINTR)
			break;
		rc = 0;
	}
	if (rc == -EFBIG && !was_pending)
		sigtimedwait(&xfsz, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void *map_segment(int fd, size_t size, bool writable)
{
	void *base;

	base = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0),
		    MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		return NULL;
	/* Neither is needed to be correct today, but say when they fail. */
	if (madvise(base, size, MADV_DONTFORK) ||
	    madvise(base, size, MADV_DONTDUMP))
		RU_WARN_ONCE("shm", "segment mapping keeps its default advice");
	return base;
}

/* The largest size from max down to min that can be had, and its mapping. */
static int size_and_map(struct ru_shm *shm, size_t max, size_t min)
{
	size_t page = ru_page_size();
	struct rlimit limit;
	size_t size = max;
	int rc = -EFBIG;

	if (!getrlimit(RLIMIT_FSIZE, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < size)
		size = ru_align_down(limit.rlim_cur, page);
	while (size >= min) {
		rc = set_size(shm->fd, size);
		if (!rc) {
			shm->base = map_segment(shm->fd, size, true);
			if (shm->base) {
				shm->size = size;
				return 0;
			}
			rc = -ENOMEM;
		}
		if ((rc != -EFBIG && rc != -ENOMEM) || size == min)
			break;
		size = ru_max(min, ru_align_down(size / 2, page));
	}
	return rc;
}

static int seal(int fd, unsigned int flags)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	if (flags & RU_SHM_PEERS_READ)
		seals |= F_SEAL_FUTURE_WRITE;
	if (!fcntl(fd, F_ADD_SEALS, seals))
		return 0;
	/* Linux before 5.1 has no seal against future writes. */
	return errno == EINVAL ? -ENOSYS : -errno;
}

int ru_shm_create(struct ru_shm *shm, const char *name, size_t max_bytes,
		  size_t min_bytes, unsigned int flags)
{
	struct ru_shm new = { .flags = flags };
	size_t page = ru_page_size();
	int rc;

	if (!max_bytes || min_bytes > max_bytes || max_bytes > SIZE_MAX / 2 ||
	    (flags & ~(unsigned int)RU_SHM_PEERS_READ))
		return -EINVAL;
	if (RU_FAIL_POINT("shm.create"))
		return -ENOMEM;
	new.fd = open_memfd(name);
	if (new.fd < 0)
		return new.fd;
	rc = size_and_map(&new, ru_align_up(max_bytes, page),
			  ru_align_up(ru_max(min_bytes, 1), page));
	if (rc)
		goto close_fd;
	/* After mapping: the seal forbids new writable mappings only. */
	rc = seal(new.fd, flags);
	if (!rc)
		rc = ru_shm_fd_id(new.fd, &new.id);
	if (rc)
		goto unmap;
	*shm = new;
	return 0;

unmap:
	munmap(new.base, new.size);
close_fd:
	close(new.fd);
	return rc;
}

int ru_shm_fd_id(int fd, struct ru_shm_id *id_out)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	id_out->dev = st.st_dev;
	id_out->ino = st.st_ino;
	return 0;
}

/*
 * Only memory files on tmpfs will do: one of huge pages raises SIGBUS when
 * its pool is empty.
 */
static int check_kind(int fd, unsigned int flags)
{
	int needed = F_SEAL_SHRINK | F_SEAL_GROW;
	int write_seals = F_SEAL_WRITE | F_SEAL_FUTURE_WRITE;
	struct statfs fs;
	int seals;

	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0)
		return errno == EBADF ? -EBADF : -EINVAL;
	if (fstatfs(fd, &fs))
		return -errno;
	if (fs.f_type != TMPFS_MAGIC || (seals & needed) != needed)
		return -EINVAL;
	if (!!(flags & RU_SHM_PEERS_READ) != !!(seals & write_seals))
		return -EPERM;
	return 0;
}

int ru_shm_check_fd(int fd, const struct ru_shm_id *id, size_t size_bytes,
		    unsigned int flags, size_t *size_out)
{
	struct stat st;
	int rc;

	rc = check_kind(fd, flags);
	if (rc)
		return rc;
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || (size_t)st.st_size % ru_page_size() ||
	    (uint64_t)st.st_size > SIZE_MAX / 2)
		return -EINVAL;
	if (id && (id->dev != st.st_dev || id->ino != st.st_ino))
		return -ESTALE;
	if (size_bytes && size_bytes != (size_t)st.st_size)
		return -ESTALE;
	*size_out = (size_t)st.st_size;
	return 0;
}

int ru_shm_attach(struct ru_shm *shm, int fd, const struct ru_shm_id *id,
		  size_t size_bytes, unsigned int flags)
{
	struct ru_shm new = { .fd = -1, .flags = flags };
	int rc;

	if (RU_FAIL_POINT("shm.attach"))
		return -ENOMEM;
	rc = ru_shm_check_fd(fd, id, size_bytes, flags, &new.size);
	if (!rc)
		rc = ru_shm_fd_id(fd, &new.id);
	if (rc)
		return rc;
	new.base = map_segment(fd, new.size, !(flags & RU_SHM_PEERS_READ));
	if (!new.base)
		return -ENOMEM;
	*shm = new;
	return 0;
}

bool ru_shm_fd_is_ours(const struct ru_shm *shm)
{
	struct ru_shm_id id;

	return shm->fd >= 0 && !ru_shm_fd_id(shm->fd, &id) &&
	       id.dev == shm->id.dev && id.ino == shm->id.ino;
}

void ru_shm_fini_child(struct ru_shm *shm)
{
	if (ru_shm_fd_is_ours(shm))
		close(shm->fd);
	*shm = RU_SHM_NONE;
}

void ru_shm_fini(struct ru_shm *shm)
{
	if (shm->base)
		munmap(shm->base, shm->size);
	ru_shm_fini_child(shm);
}

static int commit_by_fd(const struct ru_shm *shm, size_t off, size_t len)
{
	while (len) {
		size_t n = ru_min(len, COMMIT_PIECE);

		if (fallocate(shm->fd, FALLOC_FL_KEEP_SIZE, (off_t)off,
			      (off_t)n)) {
			if (errno == EINTR)
				continue;
			return errno == ENOSPC ? -ENOMEM : -errno;
		}
		off += n;
		len -= n;
	}
	return 0;
}

/* Linux 5.14; reports as an error what a touch would raise as SIGBUS. */
static int commit_by_map(const struct ru_shm *shm, size_t off, size_t len)
{
	while (madvise((char *)shm->base + off, len, MADV_POPULATE_WRITE)) {
		if (errno == EINTR || errno == EAGAIN)
			continue;
		return errno == EINVAL ? -EBADF : -ENOMEM;
	}
	return 0;
}

int ru_shm_commit(struct ru_shm *shm, size_t off, size_t len)
{
	size_t page = ru_page_size();
	size_t end;

	if (off > shm->size || len > shm->size - off)
		return -EINVAL;
	if (RU_FAIL_POINT("shm.commit"))
		return -ENOMEM;
	end = ru_align_up(off + len, page);
	off = ru_align_down(off, page);
	if (!len)
		return 0;
	if (ru_shm_fd_is_ours(shm))
		return commit_by_fd(shm, off, end - off);
	return commit_by_map(shm, off, end - off);
}

int ru_shm_release(struct ru_shm *shm, size_t off, size_t len)
{
	size_t page = ru_page_size();
	size_t start, end;
	int rc;

	if (off > shm->size || len > shm->size - off)
		return -EINVAL;
	start = ru_align_up(off, page);
	end = ru_align_down(off + len, page);
	if (start >= end)
		return 0;
	do {
		if (ru_shm_fd_is_ours(shm))
			rc = fallocate(shm->fd, FALLOC_FL_PUNCH_HOLE |
				       FALLOC_FL_KEEP_SIZE, (off_t)start,
				       (off_t)(end - start));
		else
			rc = madvise((char *)shm->base + start, end - start,
				     MADV_REMOVE);
	} while (rc && errno == EINTR);
	return rc ? -errno : 0;
}
