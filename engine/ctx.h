/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An opened device: one per rosm_ctx_open(), all on the one instance of this
 * engine copy.
 */
#ifndef ROSM_CTX_H
#define ROSM_CTX_H

#include <stdatomic.h>

#include "engine/event.h"
#include "engine/inst.h"
#include "engine/rosm.h"
#include "util/list.h"

struct rosm_ctx {
	struct rosm_inst *inst;
	struct ru_list link;		/* inst->ctxs */
	atomic_uint children;		/* PDs, CQs, channels */
	struct rosm_event_queue events;
};

/* A child more, a child less. */
static inline void rosm_ctx_hold(struct rosm_ctx *ctx)
{
	atomic_fetch_add_explicit(&ctx->children, 1, memory_order_relaxed);
}

static inline void rosm_ctx_drop(struct rosm_ctx *ctx)
{
	atomic_fetch_sub_explicit(&ctx->children, 1, memory_order_release);
}

#endif
