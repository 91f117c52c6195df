/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment: one sealed memfd of fixed, sparse size, mapped whole. Its owner
 * commits pages before it uses them, so that shortage is an error code and
 * never a SIGBUS. Nobody can truncate it, so that a mapping of it is safe to
 * touch whatever its owner does. Mappings are not inherited by a fork child
 * and stay out of core dumps.
 *
 * Zero means "invalid" in everything that lies in a segment: fresh pages and
 * holes that anybody punches read as zero.
 *
 * Calls on one struct are the caller's to serialise, except commit and
 * release, which may run at once on different ranges.
 */
#ifndef RU_SHM_H
#define RU_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Page size of the machine, cached. */
size_t ru_page_size(void);

enum ru_shm_flags {
	/* Peers cannot write it; the owner's own mapping can. */
	RU_SHM_PEERS_READ = 1,
};

/* Names one memfd on the machine while it exists. */
struct ru_shm_id {
	uint64_t dev;
	uint64_t ino;
};

struct ru_shm {
	int fd;			/* -1: a foreign segment, or none */
	unsigned int flags;
	void *base;
	size_t size;		/* bytes, a multiple of the page */
	struct ru_shm_id id;
};

/*
 * Creates a segment of max_bytes, or of less, but not less than min_bytes,
 * where RLIMIT_FSIZE or the address space does not allow it (shm->size
 * tells). name is for /proc/PID/maps. 0, -EINVAL, -EFBIG (the file limit is
 * below min_bytes), -ENOMEM, -EMFILE, -ENOSYS.
 */
int ru_shm_create(struct ru_shm *shm, const char *name, size_t max_bytes,
		  size_t min_bytes, unsigned int flags);

/*
 * Maps a segment of another process: for writing, unless flags has
 * RU_SHM_PEERS_READ (which then must be how it is sealed). Refuses what is
 * not a memfd sealed against shrinking and growing, and what differs from
 * *id or size_bytes (NULL, 0: not compared). The fd stays the caller's, who
 * may close it. 0, -EINVAL (not a segment), -ESTALE (another one), -EPERM
 * (sealed the wrong way), -ENOMEM.
 */
int ru_shm_attach(struct ru_shm *shm, int fd, const struct ru_shm_id *id,
		  size_t size_bytes, unsigned int flags);

/* The checks of ru_shm_attach() alone; *size_out is the size found. */
int ru_shm_check_fd(int fd, const struct ru_shm_id *id, size_t size_bytes,
		    unsigned int flags, size_t *size_out);

/* (dev, ino) of any descriptor. 0 or -errno. */
int ru_shm_fd_id(int fd, struct ru_shm_id *id_out);

/* Unmaps and closes. Harmless on a struct set to RU_SHM_NONE. */
void ru_shm_fini(struct ru_shm *shm);

/* For a fork child, where the mapping does not exist: only closes. */
void ru_shm_fini_child(struct ru_shm *shm);

#define RU_SHM_NONE	((struct ru_shm){ .fd = -1 })

/*
 * True while shm->fd still is this segment's descriptor: programs that close
 * all descriptors close ours, and their next file may get its number.
 */
bool ru_shm_fd_is_ours(const struct ru_shm *shm);

/*
 * Gives pages to the range, rounded outwards; keeps the content of those
 * that exist. Owner only. 0, -ENOMEM (part of it may be committed), -EINVAL
 * (outside), -EBADF (the descriptor was closed behind our back).
 */
int ru_shm_commit(struct ru_shm *shm, size_t off, size_t len);

/*
 * Gives the whole pages inside the range back; they read as zero from then
 * on. 0, -EINVAL, -EPERM (a RU_SHM_PEERS_READ segment: the kernel allows no
 * holes in it), -EBADF.
 */
int ru_shm_release(struct ru_shm *shm, size_t off, size_t len);

#endif
