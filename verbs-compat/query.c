/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries of a device, its port, GIDs and P_Keys. Our device has one port with
 * one GID and the default P_Key. Structs that grow are filled whole and copied
 * as far as the application's version of them goes.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "util/compiler.h"
#include "verbs-compat/passthru.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum {
	PORT = 1,
	GIDS = 1,
	PKEYS = 1,
	PKEY_DEFAULT = 0xffff,
	/* A locally administered OUI: nobody's hardware. */
	VENDOR_ID = 0x02524f,
	VENDOR_PART_ID = 1,
	/* As port attributes encode them: 4 lanes of EDR, 100 Gb/s. */
	WIDTH_4X = 2,
	SPEED_EDR = 32,
	SPEED_UNITS = 1000,	/* of 100 Mb/s */
	PHYS_LINK_UP = 5,
	/* The ABI's oldest struct ibv_port_attr ended before this. */
	PORT_ATTR_OLD = offsetof(struct ibv_port_attr, port_cap_flags2),
};

/* What a caller's buffer has room for; the rest of it becomes zero. */
static void copy_out(void *to, size_t to_len, const void *from,
		     size_t from_len)
{
	size_t len = ru_min(to_len, from_len);

	memcpy(to, from, len);
	memset((char *)to + len, 0, to_len - len);
}

static bool bad_entry(uint32_t port_num, int64_t index, int count)
{
	return port_num != PORT || index < 0 || index >= count;
}

/* ---- device -------------------------------------------------------------- */

static void fill_device_attr(struct ibv_device_attr *attr)
{
	const struct rosm_device_limits *lim = rosm_device_limits();
	struct rvc_device *dev;

	memset(attr, 0, sizeof(*attr));
	rvc_devices(&dev);
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", rosm_version());
	attr->node_guid = dev->guid;
	attr->sys_image_guid = dev->guid;
	attr->max_mr_size = lim->max_mr_size;
	attr->page_size_cap = ~UINT64_C(0xfff);
	attr->vendor_id = VENDOR_ID;
	attr->vendor_part_id = VENDOR_PART_ID;
	attr->max_qp = (int)lim->max_qp;
	attr->max_qp_wr = (int)lim->max_qp_wr;
	attr->device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD |
				 IBV_DEVICE_SYS_IMAGE_GUID |
				 IBV_DEVICE_RC_RNR_NAK_GEN;
	attr->max_sge = (int)lim->max_sge;
	attr->max_sge_rd = (int)lim->max_sge_rd;
	attr->max_cq = (int)lim->max_cq;
	attr->max_cqe = (int)lim->max_cqe;
	attr->max_mr = (int)lim->max_mr;
	attr->max_pd = (int)lim->max_pd;
	attr->max_qp_rd_atom = (int)lim->max_rd_atomic;
	attr->max_qp_init_rd_atom = (int)lim->max_rd_atomic;
	attr->max_res_rd_atom = (int)ru_min((uint64_t)lim->max_rd_atomic *
					    lim->max_qp, INT32_MAX);
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->max_pkeys = PKEYS;
	attr->phys_port_cnt = 1;
}

RVC_EXPORT int ibv_query_device(struct ibv_context *context,
				struct ibv_device_attr *attr)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_device(context, attr);
	fill_device_attr(attr);
	return 0;
}

int rvc_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex full = { 0 };

	(void)context;
	if (input && input->comp_mask)
		return rvc_err(EINVAL);
	if (attr_size < offsetof(struct ibv_device_attr_ex, odp_caps))
		return rvc_err(EINVAL);
	fill_device_attr(&full.orig_attr);
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags;
	full.phys_port_cnt_ex = full.orig_attr.phys_port_cnt;
	copy_out(attr, attr_size, &full, sizeof(full));
	return 0;
}

/* ---- port ---------------------------------------------------------------- */

/* IBTA's codes: 1 is 256 bytes, each next one twice as much. */
static enum ibv_mtu mtu_code(uint32_t bytes)
{
	return (enum ibv_mtu)(ru_log2(ru_max(bytes, 256)) - 7);
}

static int fill_port_attr(struct ibv_context *context, uint8_t port_num,
			  struct ibv_port_attr *attr)
{
	struct rosm_port port;
	int err;

	if (port_num != PORT)
		return rvc_err(EINVAL);
	err = rosm_ctx_query_port(rvc_context(context)->eng, &port);
	if (err)
		return rvc_err(-err);
	memset(attr, 0, sizeof(*attr));
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = mtu_code(port.mtu_bytes);
	attr->active_mtu = attr->max_mtu;
	attr->gid_tbl_len = GIDS;
	attr->port_cap_flags = IBV_PORT_SYS_IMAGE_GUID_SUP;
	attr->max_msg_sz = rosm_device_limits()->max_msg_bytes;
	attr->pkey_tbl_len = PKEYS;
	attr->lid = port.lid;
	attr->sm_lid = port.lid;
	attr->max_vl_num = 1;
	attr->active_width = WIDTH_4X;
	attr->active_speed = SPEED_EDR;
	attr->phys_state = PHYS_LINK_UP;
	attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
	return 0;
}

int rvc_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr, size_t attr_len)
{
	struct ibv_port_attr full;
	int err = fill_port_attr(context, port_num, &full);

	if (!err)
		copy_out(attr, attr_len, &full, sizeof(full));
	return err;
}

RVC_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			      struct _compat_ibv_port_attr *attr)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_port(context, port_num, attr);
	return rvc_query_port(context, port_num, (struct ibv_port_attr *)attr,
			      PORT_ATTR_OLD);
}

RVC_EXPORT int ibv_query_port_speed(struct ibv_context *context,
				    uint32_t port_num, uint64_t *port_speed)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_port_speed(context, port_num,
						    port_speed);
	if (port_num != PORT)
		return rvc_err(EINVAL);
	*port_speed = SPEED_UNITS;
	return 0;
}

/* ---- GIDs ---------------------------------------------------------------- */

static int fill_gid(struct ibv_context *context, uint32_t port_num,
		    int64_t index, union ibv_gid *gid)
{
	struct rosm_port port;
	int err;

	if (bad_entry(port_num, index, GIDS))
		return -EINVAL;
	err = rosm_ctx_query_port(rvc_context(context)->eng, &port);
	if (!err)
		memcpy(gid->raw, port.gid, sizeof(gid->raw));
	return err;
}

static int fill_gid_entry(struct ibv_context *context, uint32_t port_num,
			  uint32_t index, struct ibv_gid_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	entry->gid_index = index;
	entry->port_num = port_num;
	entry->gid_type = IBV_GID_TYPE_IB;
	return fill_gid(context, port_num, index, &entry->gid);
}

RVC_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num,
			     int index, union ibv_gid *gid)
{
	int err;

	if (rvc_foreign(context))
		return rvc_sys.ibv_query_gid(context, port_num, index, gid);
	err = fill_gid(context, port_num, index, gid);
	return err ? rvc_minus_one(-err) : 0;
}

RVC_EXPORT int _ibv_query_gid_ex(struct ibv_context *context,
				 uint32_t port_num, uint32_t gid_index,
				 struct ibv_gid_entry *entry, uint32_t flags,
				 size_t entry_size)
{
	struct ibv_gid_entry full;
	int err;

	if (rvc_foreign(context))
		return rvc_sys._ibv_query_gid_ex(context, port_num, gid_index,
						 entry, flags, entry_size);
	if (flags)
		return rvc_err(EINVAL);
	err = fill_gid_entry(context, port_num, gid_index, &full);
	if (err)
		return rvc_err(-err);
	copy_out(entry, entry_size, &full, sizeof(full));
	return 0;
}

/* Returns how many entries were written, or -errno. */
RVC_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
					struct ibv_gid_entry *entries,
					size_t max_entries, uint32_t flags,
					size_t entry_size)
{
	struct ibv_gid_entry full;
	int err;

	if (rvc_foreign(context))
		return rvc_sys._ibv_query_gid_table(context, entries,
						    max_entries, flags,
						    entry_size);
	if (flags || max_entries < GIDS)
		return -rvc_err(EINVAL);
	err = fill_gid_entry(context, PORT, 0, &full);
	if (err)
		return -rvc_err(-err);
	copy_out(entries, entry_size, &full, sizeof(full));
	return GIDS;
}

int rvc_query_gid_type(struct ibv_context *context, uint8_t port_num,
		       unsigned int index, enum rvc_gid_type_sysfs *type)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_gid_type(context, port_num, index,
						  type);
	if (bad_entry(port_num, index, GIDS))
		return rvc_minus_one(EINVAL);
	*type = RVC_GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

/* ---- P_Keys -------------------------------------------------------------- */

RVC_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num,
			      int index, __be16 *pkey)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_pkey(context, port_num, index, pkey);
	if (bad_entry(port_num, index, PKEYS))
		return rvc_minus_one(EINVAL);
	*pkey = htons(PKEY_DEFAULT);
	return 0;
}

/* The table ends where ibv_query_pkey says EINVAL. */
RVC_EXPORT int ibv_get_pkey_index(struct ibv_context *context,
				  uint8_t port_num, __be16 pkey)
{
	__be16 entry;

	if (rvc_foreign(context))
		return rvc_sys.ibv_get_pkey_index(context, port_num, pkey);
	for (int i = 0; !ibv_query_pkey(context, port_num, i, &entry); i++)
		if (entry == pkey)
			return i;
	return -1;
}
