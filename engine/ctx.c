/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts: open and close of the device; see ctx.h. */
#include <config.h>

#include "engine/ctx.h"

#include "engine/device.h"
#include "util/fault.h"

#include <errno.h>
#include <stdlib.h>

int rosm_ctx_open(struct rosm_ctx **ctx_out)
{
	struct rosm_ctx *ctx;
	int rc;

	ctx = RU_FAIL_POINT("ctx.alloc") ? NULL : calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	rc = rosm_inst_get(&ctx->inst);
	if (rc)
		goto free_ctx;
	rc = rosm_event_queue_init(&ctx->events, ctx->inst);
	if (rc)
		goto put_inst;
	ru_lock_acquire(&ctx->inst->lock);
	ru_list_add_tail(&ctx->inst->ctxs, &ctx->link);
	ru_lock_release(&ctx->inst->lock);
	*ctx_out = ctx;
	return 0;

put_inst:
	rosm_inst_put(ctx->inst);
free_ctx:
	free(ctx);
	return rc;
}

int rosm_ctx_close(struct rosm_ctx *ctx)
{
	if (atomic_load_explicit(&ctx->children, memory_order_acquire))
		return -EBUSY;
	ru_lock_acquire(&ctx->inst->lock);
	ru_list_del(&ctx->link);
	ru_lock_release(&ctx->inst->lock);
	rosm_event_queue_fini(&ctx->events);
	rosm_inst_put(ctx->inst);
	free(ctx);
	return 0;
}

int rosm_ctx_query_port(struct rosm_ctx *ctx, struct rosm_port *port_out)
{
	rosm_device_port_of(ctx->inst->dir, port_out);
	return 0;
}
