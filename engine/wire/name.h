/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The address of an endpoint: one record of 64 bytes, the same for every kind
 * of endpoint and for both paths. It travels through programs (fi_getname,
 * PMI), so it is part of the wire although nobody maps it.
 */
#ifndef ROSM_WIRE_NAME_H
#define ROSM_WIRE_NAME_H

#include "engine/wire/common.h"

#define ROSM_WIRE_NAME_MAGIC	0x4d52u		/* "RM" */
#define ROSM_WIRE_NAME_VERSION	1u

/*
 *  offset field    use
 *  0      magic    ROSM_WIRE_NAME_MAGIC
 *  2      version  of this record
 *  4      flags    0
 *  8      node     node_id of the directory: who shares it is the same node
 *  24     gid      raw GID, network order
 *  40     who      instance: generation << 12 | slot
 *  48     qpn      24 bits
 *  52     srqn     XRC SRQ number when ranks span nodes, else 0
 *  56     lid      of the port
 *  58     port     1
 *  60     qkey
 */
struct rosm_wire_name {
	uint16_t magic;
	uint16_t version;
	uint32_t flags;
	uint8_t node[16];
	uint8_t gid[16];
	uint64_t who;
	uint32_t qpn;
	uint32_t srqn;
	uint16_t lid;
	uint8_t port;
	uint8_t reserved;
	uint32_t qkey;
};

static_assert(sizeof(struct rosm_wire_name) == 64, "at most 64 bytes");

#endif
