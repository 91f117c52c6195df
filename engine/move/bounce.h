/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a transfer through a bounce ring (engine/wire/xfer.h): the source
 * copies into the ring, the sink copies out of it, each in its own calls. The
 * ring and both words lie in the asker's read-write segment.
 */
#ifndef ROSM_MOVE_BOUNCE_H
#define ROSM_MOVE_BOUNCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "engine/wire/xfer.h"

#define ROSM_BOUNCE_RING	(256u * 1024)	/* bytes of a ring */
#define ROSM_BOUNCE_CHUNK	(32u * 1024)	/* one store of a count */
#define ROSM_BOUNCE_BUDGET	(256u * 1024)	/* one call's share */

struct rosm_bounce {
	struct rosm_wire_xfer *xfer;
	uint8_t *ring;		/* NULL: not known yet */
	uint32_t ring_bytes;	/* a power of two */
	uint64_t moved;		/* our count, private; stored after a chunk */
	uint64_t total;		/* bytes that the source has */
	uint64_t want;		/* bytes that this end moves, at most total */
};

static inline bool rosm_bounce_over(const struct rosm_bounce *b)
{
	return b->moved == b->want;
}

/*
 * Do up to a budget's worth with iov, which holds want bytes. Bytes moved
 * (0: the other end has to go first), or -EPROTO: the other's count makes no
 * sense.
 */
int64_t rosm_bounce_produce(struct rosm_bounce *b, const struct iovec *iov,
			    uint32_t iov_count);
int64_t rosm_bounce_consume(struct rosm_bounce *b, const struct iovec *iov,
			    uint32_t iov_count);

#endif
