/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places in the instance's QP table (descriptors and control blocks): shared
 * by queue pairs and RD endpoints. Places are reused late, so that a stale
 * index that somebody kept finds another QPN there rather than the old one.
 */
#ifndef ROSM_QPINDEX_H
#define ROSM_QPINDEX_H

#include "engine/inst.h"

/*
 * A free place, committed; its descriptor's qpn is 0. qp, unless NULL, is
 * what inst->qps[] says of it. -ENOMEM: none left, no memory.
 */
int rosm_qpindex_alloc(struct rosm_inst *inst, struct rosm_qp *qp,
		       uint32_t *index_out);

/* The descriptor's qpn must be 0 again and no hazard may name the place. */
void rosm_qpindex_free(struct rosm_inst *inst, uint32_t index);

#endif
