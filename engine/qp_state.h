/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state table of queue pairs: which transitions there are and which
 * attributes each needs or allows, by type. IBTA 10.3.1, 11.2.5.2;
 * ibv_modify_qp(3). Pure data and a pure function; docs/qp-states.md.
 */
#ifndef ROSM_QP_STATE_H
#define ROSM_QP_STATE_H

#include "engine/rosm.h"

/* 0, or -EINVAL when the type has no such step or the mask does not fit it. */
int rosm_qp_step(enum rosm_qp_type type, enum rosm_qp_state from,
		 enum rosm_qp_state to, uint32_t mask);

#endif
