/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions and the check that every access makes. Table in the owner's
 * read-only segment (engine/wire/mr.h). A use is: name the key in a hazard
 * line, then check, then copy, then clear the line.
 */
#ifndef ROSM_MR_H
#define ROSM_MR_H

#include <errno.h>

#include "engine/peer.h"
#include "engine/rosm.h"
#include "engine/wire/mr.h"

/*
 * Whether [addr, addr + len) of owner may be used with this key. addr is
 * relative to the region's iova; *va_out is the owner's virtual address.
 * 0, or -EINVAL (no such key), -EPERM (other PD), -EACCES (rights),
 * -ERANGE. len 0 is always good: IBTA 9.4.1 looks at no key then - callers
 * do not come here.
 */
static inline int rosm_mr_check(struct rosm_peer *owner, uint32_t key,
				uint64_t addr, uint64_t len, uint32_t pd,
				uint32_t access, uint64_t *va_out)
{
	uint32_t index = key >> 8;
	const struct rosm_wire_mr *mr;
	uint64_t iova, mr_len;

	if (index >= ROSM_WIRE_MRS)
		return -EINVAL;
	mr = (const struct rosm_wire_mr *)((const char *)owner->ro +
					   ROSM_RO_MR_OFF) + index;
	/* A-mr: pairs with R-mr in publish() of mr.c */
	if (atomic_load_explicit(&mr->live, memory_order_acquire) !=
	    rosm_wire_mr_live(key))
		return -EINVAL;
	if (atomic_load_explicit(&mr->pd, memory_order_relaxed) != pd)
		return -EPERM;
	if ((atomic_load_explicit(&mr->access, memory_order_relaxed) &
	     access) != access)
		return -EACCES;
	iova = atomic_load_explicit(&mr->iova, memory_order_relaxed);
	mr_len = atomic_load_explicit(&mr->len, memory_order_relaxed);
	if (addr < iova || addr - iova > mr_len ||
	    len > mr_len - (addr - iova))
		return -ERANGE;
	*va_out = atomic_load_explicit(&mr->addr, memory_order_relaxed) +
		  (addr - iova);
	return 0;
}

#endif
