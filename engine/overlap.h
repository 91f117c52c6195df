/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Order between Sends whose payload still lies in the receiver's ring and
 * one-sided requests of the same queue pair behind them.
 */
#ifndef ROSM_OVERLAP_H
#define ROSM_OVERLAP_H

#include "engine/qp.h"

struct rosm_wire_hazard;

/*
 * Bring those of this connection's unconsumed payloads that overlap `range`
 * (the destination's addresses) into the RECVs' buffers. False when the
 * receiver's process must do it (no way into its memory): try again later.
 */
bool rosm_overlap_settle(struct rosm_conn *c, struct rosm_wire_hazard *h,
			 const struct iovec *range);

#endif
