/* SPDX-License-Identifier: BSD-2-Clause */
/* A protection domain: a number that MRs and QPs must share. */
#ifndef ROSM_PD_H
#define ROSM_PD_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/ctx.h"

struct rosm_pd {
	struct rosm_ctx *ctx;
	uint32_t number;	/* of this instance's, never 0 */
	atomic_uint refs;	/* MRs, QPs and endpoints */
};

static inline void rosm_pd_hold(struct rosm_pd *pd)
{
	atomic_fetch_add_explicit(&pd->refs, 1, memory_order_relaxed);
}

static inline void rosm_pd_drop(struct rosm_pd *pd)
{
	atomic_fetch_sub_explicit(&pd->refs, 1, memory_order_release);
}

#endif
