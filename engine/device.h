/* SPDX-License-Identifier: BSD-2-Clause */
/* What the device says of itself beyond engine/rosm.h. */
#ifndef ROSM_DEVICE_H
#define ROSM_DEVICE_H

#include "engine/directory.h"
#include "engine/rosm.h"

/* LID, GUID and GID follow from the directory's node_id. */
void rosm_device_port_of(struct rosm_dir *dir, struct rosm_port *port_out);

#endif
