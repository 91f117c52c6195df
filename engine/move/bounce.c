/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounce mover, both ends: see bounce.h. Counts are bytes ever; each is
 * written by one side, which keeps the truth privately and reads the other's
 * once a turn, checked against what is possible.
 *
 * If either end stops for ever, the other simply has nothing to do: the ring
 * is the asker's, nobody holds a lock, and proof of death ends the transfer
 * (docs/death.md).
 */
#include <config.h>

#include "engine/move/bounce.h"

#include <errno.h>

#include "util/compiler.h"
#include "util/copy.h"
#include "util/fault.h"

int64_t rosm_bounce_produce(struct rosm_bounce *b, const struct iovec *iov,
			    uint32_t iov_count)
{
	int64_t done = 0;

	while (done < (int64_t)ROSM_BOUNCE_BUDGET && b->moved < b->want) {
		/* A-rdfree: the sink has read what it gives back; R-rdfree */
		uint64_t theirs = atomic_load_explicit(&b->xfer->consumed,
						       memory_order_acquire);
		uint64_t at = b->moved & (b->ring_bytes - 1);
		uint64_t n = ROSM_BOUNCE_CHUNK;

		if (theirs > b->moved || b->moved - theirs > b->ring_bytes)
			return -EPROTO;
		n = ru_min(n, b->ring_bytes - (b->moved - theirs));
		n = ru_min(n, b->want - b->moved);
		n = ru_min(n, b->ring_bytes - at);
		if (!n)
			break;
		if (ru_copy_from_iov(b->ring + at, iov, iov_count, b->moved,
				     n) != n)
			return -EINVAL;
		RU_KILL_POINT("bounce.filled");
		b->moved += n;
		done += (int64_t)n;
		/* R-rdfill: the chunk's bytes; pairs with A-rdfill below */
		atomic_store_explicit(&b->xfer->produced, b->moved,
				      memory_order_release);
	}
	return done;
}

int64_t rosm_bounce_consume(struct rosm_bounce *b, const struct iovec *iov,
			    uint32_t iov_count)
{
	int64_t done = 0;

	while (done < (int64_t)ROSM_BOUNCE_BUDGET && b->moved < b->want) {
		/* A-rdfill: pairs with R-rdfill above */
		uint64_t theirs = atomic_load_explicit(&b->xfer->produced,
						       memory_order_acquire);
		uint64_t at = b->moved & (b->ring_bytes - 1);
		uint64_t n = ROSM_BOUNCE_CHUNK;

		if (theirs < b->moved || theirs - b->moved > b->ring_bytes ||
		    theirs > b->total)
			return -EPROTO;
		n = ru_min(n, theirs - b->moved);
		n = ru_min(n, b->want - b->moved);
		n = ru_min(n, b->ring_bytes - at);
		if (!n)
			break;
		if (ru_copy_to_iov(iov, iov_count, b->moved, b->ring + at,
				   n) != n)
			return -EINVAL;
		b->moved += n;
		done += (int64_t)n;
		/* R-rdfree: our reads of the ring come first; A-rdfree above */
		atomic_store_explicit(&b->xfer->consumed, b->moved,
				      memory_order_release);
	}
	return done;
}
