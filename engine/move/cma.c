/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-sided copies: plain ones within the address space, cross-memory attach
 * (process_vm_readv, process_vm_writev) towards another process.
 *
 * Permission for CMA is directional and belongs to the pair. It is found by
 * use, with a NULL remote base that touches nothing; EPERM, ENOSYS and what
 * seccomp filters answer make the verdict "no" for good. Short counts, EFAULT
 * and ESRCH are ordinary results of every call.
 */
#include <config.h>

#include "engine/move/move.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/copy.h"
#include "util/env.h"
#include "util/log.h"

/* Iovecs of one end handed to the kernel at once; each copies at most MAX_RW_COUNT. */
#define BATCH	16u

/* The tail of a write that is stored after all the rest. */
#define TAIL_BYTES	8u

/* A place in an iovec list. */
struct cursor {
	const struct iovec *iov;
	uint32_t count;
	uint32_t i;
	size_t off;
};

static void cursor_skip_empty(struct cursor *c)
{
	while (c->i < c->count && c->off == c->iov[c->i].iov_len) {
		c->i++;
		c->off = 0;
	}
}

static void cursor_advance(struct cursor *c, size_t n)
{
	while (n) {
		size_t here;

		cursor_skip_empty(c);
		here = c->iov[c->i].iov_len - c->off;
		if (here > n)
			here = n;
		c->off += here;
		n -= here;
	}
}

/* Up to max bytes from the cursor on, as at most BATCH iovecs. */
static uint32_t cursor_slice(struct cursor c, size_t max, struct iovec *out,
			     size_t *bytes_out)
{
	uint32_t n = 0;
	size_t bytes = 0;

	for (cursor_skip_empty(&c); n < BATCH && bytes < max && c.i < c.count;
	     cursor_skip_empty(&c)) {
		size_t here = c.iov[c.i].iov_len - c.off;

		if (here > max - bytes)
			here = max - bytes;
		out[n].iov_base = (char *)c.iov[c.i].iov_base + c.off;
		out[n++].iov_len = here;
		bytes += here;
		c.off += here;
	}
	*bytes_out = bytes;
	return n;
}

static void copy_local(struct cursor s, struct cursor d, uint64_t len)
{
	while (len) {
		size_t n;

		cursor_skip_empty(&s);
		cursor_skip_empty(&d);
		n = s.iov[s.i].iov_len - s.off;
		if (n > d.iov[d.i].iov_len - d.off)
			n = d.iov[d.i].iov_len - d.off;
		if (n > len)
			n = len;
		/* a program may send a buffer to itself */
		if ((char *)d.iov[d.i].iov_base + d.off !=
		    (char *)s.iov[s.i].iov_base + s.off)
			ru_copy((char *)d.iov[d.i].iov_base + d.off,
				(char *)s.iov[s.i].iov_base + s.off, n);
		s.off += n;
		d.off += n;
		len -= n;
	}
}

static bool is_denial(int err)
{
	return err == EPERM || err == ENOSYS || err == EACCES ||
	       err == EINVAL || err == EOPNOTSUPP;
}

/* For good, and said once, whichever thread finds it. err 0: not wanted. */
static void deny(struct rosm_peer *peer, bool write, int err)
{
	char who[64];

	if (atomic_exchange_explicit(write ? &peer->cma_write : &peer->cma_read,
				     ROSM_CMA_NO, memory_order_relaxed) ==
	    ROSM_CMA_NO)
		return;
	if (peer->pid > 0)
		snprintf(who, sizeof(who), "process %d", (int)peer->pid);
	else
		snprintf(who, sizeof(who), "slot %u, whose pid is hidden",
			 rosm_wire_who_slot(peer->who));
	RU_INFO("move", "%s: its memory cannot be %s directly (%s): data %s it "
		"goes through shared memory", who, write ? "written" : "read",
		peer->pid <= 0 ? "no pid" : err ? strerror(err) :
						  "ROSM_MOVE_CMA is 0",
		write ? "to" : "from");
}

static bool probe(struct rosm_peer *peer, _Atomic int *verdict, bool write)
{
	int v = atomic_load_explicit(verdict, memory_order_relaxed);
	struct iovec local, remote;
	char byte = 0;
	ssize_t n;

	if (v != ROSM_CMA_UNKNOWN)
		return v == ROSM_CMA_YES;
	if (!ru_param_bool("ROSM_MOVE_CMA") || peer->pid <= 0) {
		deny(peer, write, 0);
		return false;
	}
	local.iov_base = &byte;
	local.iov_len = 1;
	remote.iov_base = NULL;
	remote.iov_len = 1;
	n = write ? process_vm_writev(peer->pid, &local, 1, &remote, 1, 0) :
		    process_vm_readv(peer->pid, &local, 1, &remote, 1, 0);
	if (n < 0 && errno == ESRCH)
		return false;	/* says nothing about permission */
	if (n < 0 && is_denial(errno)) {
		deny(peer, write, errno);
		return false;
	}
	/* another thread may have been refused meanwhile */
	v = ROSM_CMA_UNKNOWN;
	return atomic_compare_exchange_strong_explicit(
		       verdict, &v, ROSM_CMA_YES, memory_order_relaxed,
		       memory_order_relaxed) ||
	       v == ROSM_CMA_YES;
}

bool rosm_move_can_read(struct rosm_peer *peer)
{
	return peer->local || probe(peer, &peer->cma_read, false);
}

bool rosm_move_can_write(struct rosm_peer *peer)
{
	return peer->local || probe(peer, &peer->cma_write, true);
}

/* Which side of a failed copy is not mapped: asks about our own first byte. */
static bool own_byte_faults(const struct iovec *iov)
{
	char byte;
	struct iovec there = { iov->iov_base, 1 }, here = { &byte, 1 };
	ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	if (n < 0 && is_denial(errno))	/* by a filter of one of the two */
		n = process_vm_writev(getpid(), &there, 1, &here, 1, 0);
	return n < 0 && errno == EFAULT;
}

/*
 * The kernel walks the remote iovecs in order: with the last bytes in one of
 * their own, they are stored after all the rest. Programs poll on them.
 */
static uint32_t split_tail(struct iovec *remote, uint32_t rn)
{
	struct iovec *last = &remote[rn - 1];

	if (rn == BATCH || last->iov_len <= TAIL_BYTES)
		return rn;
	remote[rn].iov_base = (char *)last->iov_base + last->iov_len -
			      TAIL_BYTES;
	remote[rn].iov_len = TAIL_BYTES;
	last->iov_len -= TAIL_BYTES;
	return rn + 1;
}

/* One system call's worth, from the cursors; advances them. */
static int cma_step(struct rosm_peer *peer, struct cursor *mine,
		    struct cursor *theirs, size_t max, bool write,
		    size_t *moved_out, bool *mine_faults)
{
	struct iovec local[BATCH], remote[BATCH];
	size_t lbytes, rbytes;
	uint32_t ln, rn;
	ssize_t n;

	rn = cursor_slice(*theirs, max, remote, &rbytes);
	ln = cursor_slice(*mine, rbytes, local, &lbytes);
	if (lbytes < rbytes)
		rn = cursor_slice(*theirs, lbytes, remote, &rbytes);
	if (!ln || !rn)
		return -EINVAL;
	if (write && rbytes == max)
		rn = split_tail(remote, rn);
	n = write ? process_vm_writev(peer->pid, local, ln, remote, rn, 0) :
		    process_vm_readv(peer->pid, local, ln, remote, rn, 0);
	if (n < 0) {
		int err = errno;

		if (err == EFAULT)
			*mine_faults = own_byte_faults(local);
		return -err;
	}
	if (!n)
		return -EFAULT;
	cursor_advance(mine, (size_t)n);
	cursor_advance(theirs, (size_t)n);
	*moved_out = (size_t)n;
	return 0;
}

static int cma_copy(struct rosm_peer *peer, struct cursor mine,
		    struct cursor theirs, uint64_t len, bool write,
		    enum rosm_move_fault *fault_out)
{
	uint64_t done = 0;

	while (done < len) {
		size_t max = (size_t)(len - done);
		bool mine_faults = false;
		size_t moved = 0;
		int rc;

		rc = cma_step(peer, &mine, &theirs, max, write, &moved,
			      &mine_faults);
		if (rc == -EFAULT) {
			*fault_out = mine_faults == write ? ROSM_FAULT_SRC :
							    ROSM_FAULT_DST;
			return rc;
		}
		if (rc == -ESRCH)
			return rc;
		if (rc && is_denial(-rc)) {
			deny(peer, write, -rc);
			return -EOPNOTSUPP;
		}
		if (rc)
			return rc;
		done += moved;
	}
	return 0;
}

int rosm_move(const struct rosm_end *src, const struct rosm_end *dst,
	      uint64_t len, enum rosm_move_fault *fault_out)
{
	struct cursor s = { src->iov, src->iov_count, 0, 0 };
	struct cursor d = { dst->iov, dst->iov_count, 0, 0 };
	struct rosm_peer *peer;
	bool write;
	int rc;

	*fault_out = ROSM_FAULT_NONE;
	if (!len)
		return 0;
	if (src->peer->local && dst->peer->local) {
		copy_local(s, d, len);
		return 0;
	}
	write = src->peer->local;
	peer = write ? dst->peer : src->peer;
	if (!(write ? rosm_move_can_write(peer) : rosm_move_can_read(peer)))
		return rosm_peer_is_dead(peer) ? -ESRCH : -EOPNOTSUPP;
	rc = write ? cma_copy(peer, s, d, len, true, fault_out) :
		     cma_copy(peer, d, s, len, false, fault_out);
	if (rc == -ESRCH && !rosm_peer_is_dead(peer))
		rosm_peers_watch_now(peer->inst);
	return rc;
}
