/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains; see pd.h. */
#include <config.h>

#include "engine/pd.h"

#include "util/fault.h"

#include <errno.h>
#include <stdlib.h>

/* Numbers come again after 2^32 domains of one instance, not before. */
static uint32_t new_number(struct rosm_inst *inst)
{
	uint32_t n;

	do {
		n = atomic_fetch_add_explicit(&inst->next_pd, 1,
					      memory_order_relaxed) + 1;
	} while (!n);
	return n;
}

int rosm_pd_alloc(struct rosm_ctx *ctx, struct rosm_pd **pd_out)
{
	struct rosm_pd *pd;

	pd = RU_FAIL_POINT("pd.alloc") ? NULL : calloc(1, sizeof(*pd));
	if (!pd)
		return -ENOMEM;
	pd->ctx = ctx;
	pd->number = new_number(ctx->inst);
	atomic_fetch_add_explicit(&ctx->children, 1, memory_order_relaxed);
	*pd_out = pd;
	return 0;
}

int rosm_pd_free(struct rosm_pd *pd)
{
	if (atomic_load_explicit(&pd->refs, memory_order_acquire))
		return -EBUSY;
	atomic_fetch_sub_explicit(&pd->ctx->children, 1, memory_order_release);
	free(pd);
	return 0;
}
