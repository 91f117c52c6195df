/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC data where neither process can reach the other's memory: both copy,
 * through a bounce ring in the segment of the send queue's owner. One step a
 * call; the WQE stays at the front of the stalled queue meanwhile, and is
 * checked anew at each step.
 */
#ifndef ROSM_ASSIST_H
#define ROSM_ASSIST_H

#include "engine/move/move.h"
#include "engine/qp.h"

/*
 * This process's share of moving len bytes from src to dst for the WQE
 * op->index of c. 0: all of it is here (the sink's end only); -EAGAIN: the
 * other side has to go on; -ENOMEM; -EPROTO.
 */
int rosm_assist_move(struct rosm_conn *c, const struct rosm_op *op,
		     const struct rosm_end *src, const struct rosm_end *dst,
		     uint64_t len);
/* The queue starts anew (RESET) or goes; the ring is given back. */
void rosm_assist_fini(struct rosm_qp *qp);

#endif
