/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Address handles, and how to answer a received datagram.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

#include <arpa/inet.h>
#include <string.h>

RVC_EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd,
					struct ibv_ah_attr *attr)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_create_ah(pd, attr);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	if (rvc_foreign(ah->context))
		return rvc_sys.ibv_destroy_ah(ah);
	return rvc_err(EOPNOTSUPP);
}

static int gid_index(struct ibv_context *context, uint8_t port_num,
		     const union ibv_gid *gid)
{
	union ibv_gid entry;

	for (int i = 0; !ibv_query_gid(context, port_num, i, &entry); i++)
		if (!memcmp(&entry, gid, sizeof(entry)))
			return i;
	return -1;
}

/*
 * The sender's GRH turned round. A datagram to a group names the group as its
 * destination; the answer comes from the port's first GID. Hop limit: the
 * sender's way back is as long as it may be.
 */
static int answer_grh(struct ibv_context *context, uint8_t port_num,
		      const struct ibv_grh *grh, struct ibv_global_route *out)
{
	uint32_t version_tclass_flow = ntohl(grh->version_tclass_flow);
	int index = 0;

	if (grh->dgid.raw[0] != 0xff)
		index = gid_index(context, port_num, &grh->dgid);
	if (index < 0)
		return -1;
	out->dgid = grh->sgid;
	out->sgid_index = (uint8_t)index;
	out->flow_label = version_tclass_flow & 0xfffff;
	out->traffic_class = (version_tclass_flow >> 20) & 0xff;
	out->hop_limit = 0xff;
	return 0;
}

RVC_EXPORT int ibv_init_ah_from_wc(struct ibv_context *context,
				   uint8_t port_num, struct ibv_wc *wc,
				   struct ibv_grh *grh,
				   struct ibv_ah_attr *attr)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_init_ah_from_wc(context, port_num, wc, grh,
						   attr);
	memset(attr, 0, sizeof(*attr));
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	attr->is_global = 1;
	return answer_grh(context, port_num, grh, &attr->grh);
}

RVC_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd,
						struct ibv_wc *wc,
						struct ibv_grh *grh,
						uint8_t port_num)
{
	struct ibv_ah_attr attr;

	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_create_ah_from_wc(pd, wc, grh, port_num);
	if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr))
		return NULL;
	return ibv_create_ah(pd, &attr);
}

/* Ethernet addresses are for RoCE devices. */
RVC_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *context,
					   struct ibv_ah_attr *attr,
					   uint8_t eth_mac[ETHERNET_LL_SIZE],
					   uint16_t *vid)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_resolve_eth_l2_from_gid(context, attr,
							   eth_mac, vid);
	return rvc_err(EOPNOTSUPP);
}
