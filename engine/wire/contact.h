/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The message by which two instances give each other their segments where
 * /proc/PID/fd is shut: one each way over a SOCK_SEQPACKET connection to the
 * abstract name "rosm-TOKEN" (16 hexadecimal digits, the slot's token), with
 * the descriptors of the read-write and the read-only segment beside it.
 */
#ifndef ROSM_WIRE_CONTACT_H
#define ROSM_WIRE_CONTACT_H

#include "engine/wire/common.h"

#define ROSM_WIRE_MAGIC_CONTACT	0x4b434f4d534f52ull	/* "ROSMOCK" */

/* Who asks sends first; who answers checks it and sends the same about
 * itself. */
struct rosm_wire_contact {
	uint64_t magic;
	uint32_t version;		/* ROSM_WIRE_VERSION */
	uint32_t reserved;
	uint64_t who;			/* of the sender */
};

static_assert(sizeof(struct rosm_wire_contact) == 24, "layout");

#endif
