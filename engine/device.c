/* SPDX-License-Identifier: BSD-2-Clause */
/* The device: its limits, its name, its one port. */
#include <config.h>

#include "engine/device.h"

#include "engine/wire/mr.h"
#include "engine/wire/qp.h"
#include "util/env.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const struct rosm_device_limits limits = {
	.max_mr_size = UINT64_MAX,
	.max_qp = ROSM_WIRE_QPS - 1,
	.max_qp_wr = 16384,
	.max_sge = 30,
	.max_sge_rd = 30,
	.max_inline = 512,
	.max_cq = 65535,
	.max_cqe = 262144,
	.max_mr = ROSM_WIRE_MRS - 1,
	.max_pd = 65535,
	.max_rd_atomic = 16,
	.max_msg_bytes = 1u << 31,
	.comp_vectors = 1,
};

const struct rosm_device_limits *rosm_device_limits(void)
{
	return &limits;
}

static char name[64];

static void name_read(void)
{
	snprintf(name, sizeof(name), "%s", ru_param_str("ROSM_DEVICE_NAME"));
}

const char *rosm_device_name(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, name_read);
	return name;
}

const char *rosm_version(void)
{
	return PACKAGE_VERSION;
}

/*
 * Unicast LIDs are 1..0xbfff (IBTA 4.1.3). The GUID has the bit of locally
 * administered numbers and not that of groups.
 */
void rosm_device_port_of(struct rosm_dir *dir, struct rosm_port *port_out)
{
	const uint8_t *id = dir->head->node_id;
	uint8_t guid[8];

	memset(port_out, 0, sizeof(*port_out));
	memcpy(guid, id, sizeof(guid));
	guid[0] = (uint8_t)((guid[0] & 0xfe) | 0x02);
	memcpy(&port_out->guid, guid, sizeof(guid));
	port_out->gid[0] = 0xfe;
	port_out->gid[1] = 0x80;
	memcpy(port_out->gid + 8, guid, sizeof(guid));
	port_out->lid = (uint16_t)(1 + ((uint32_t)id[8] << 8 | id[9]) % 0xbfff);
	port_out->mtu_bytes = 4096;
}

int rosm_device_port(struct rosm_port *port_out)
{
	struct rosm_dir *dir;
	int rc = rosm_dir_get(&dir);

	if (!rc)
		rosm_device_port_of(dir, port_out);
	return rc;
}
