/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries of a device, its port, GIDs and P_Keys.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

#include <sys/types.h>

RVC_EXPORT int ibv_query_device(struct ibv_context *context,
				struct ibv_device_attr *attr)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_device(context, attr);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_query_port(struct ibv_context *context, uint8_t port_num,
			      struct _compat_ibv_port_attr *attr)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_port(context, port_num, attr);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_query_port_speed(struct ibv_context *context,
				    uint32_t port_num, uint64_t *port_speed)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_port_speed(context, port_num,
						    port_speed);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_query_gid(struct ibv_context *context, uint8_t port_num,
			     int index, union ibv_gid *gid)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_gid(context, port_num, index, gid);
	return rvc_minus_one(EOPNOTSUPP);
}

RVC_EXPORT int _ibv_query_gid_ex(struct ibv_context *context,
				 uint32_t port_num, uint32_t gid_index,
				 struct ibv_gid_entry *entry, uint32_t flags,
				 size_t entry_size)
{
	if (rvc_foreign(context))
		return rvc_sys._ibv_query_gid_ex(context, port_num, gid_index,
						 entry, flags, entry_size);
	return rvc_err(EOPNOTSUPP);
}

/* Returns how many entries were written, or -errno. */
RVC_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *context,
					struct ibv_gid_entry *entries,
					size_t max_entries, uint32_t flags,
					size_t entry_size)
{
	if (rvc_foreign(context))
		return rvc_sys._ibv_query_gid_table(context, entries,
						    max_entries, flags,
						    entry_size);
	return -rvc_err(EOPNOTSUPP);
}

int rvc_query_gid_type(struct ibv_context *context, uint8_t port_num,
		       unsigned int index, enum rvc_gid_type_sysfs *type)
{
	union ibv_gid gid;

	if (rvc_foreign(context))
		return rvc_sys.ibv_query_gid_type(context, port_num, index,
						  type);
	if (ibv_query_gid(context, port_num, (int)index, &gid))
		return -1;
	*type = RVC_GID_TYPE_SYSFS_IB_ROCE_V1;
	return 0;
}

RVC_EXPORT int ibv_query_pkey(struct ibv_context *context, uint8_t port_num,
			      int index, __be16 *pkey)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_query_pkey(context, port_num, index, pkey);
	return rvc_minus_one(EOPNOTSUPP);
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
