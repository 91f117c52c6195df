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

#endif
