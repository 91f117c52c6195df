/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of endpoints (engine/wire/name.h): made, read, taken apart. */
#ifndef ROSM_NAME_H
#define ROSM_NAME_H

#include <stdint.h>

#include "engine/inst.h"
#include "engine/wire/name.h"

/* The name of one of this instance's QPNs. */
void rosm_name_make(const struct rosm_inst *inst, uint32_t qpn,
		    struct rosm_wire_name *name_out);

/* Whether it names an instance of the node that this directory is. */
bool rosm_name_is_here(const struct rosm_inst *inst,
		       const struct rosm_wire_name *name);

#endif
