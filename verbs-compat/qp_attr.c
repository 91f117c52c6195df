/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of queue pairs between the ABI's struct and the engine's: the
 * same fields and numbers, other places. Both directions are written out here
 * so that a field missing in one of them shows.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include <string.h>

static void ah_to_engine(struct rosm_ah_attr *out,
			 const struct ibv_ah_attr *attr)
{
	memcpy(out->grh.dgid, attr->grh.dgid.raw, sizeof(out->grh.dgid));
	out->grh.flow_label = attr->grh.flow_label;
	out->grh.sgid_index = attr->grh.sgid_index;
	out->grh.hop_limit = attr->grh.hop_limit;
	out->grh.traffic_class = attr->grh.traffic_class;
	out->dlid = attr->dlid;
	out->sl = attr->sl;
	out->src_path_bits = attr->src_path_bits;
	out->static_rate = attr->static_rate;
	out->is_global = attr->is_global;
	out->port_num = attr->port_num;
}

static void ah_from_engine(struct ibv_ah_attr *out,
			   const struct rosm_ah_attr *attr)
{
	memcpy(out->grh.dgid.raw, attr->grh.dgid, sizeof(out->grh.dgid.raw));
	out->grh.flow_label = attr->grh.flow_label;
	out->grh.sgid_index = attr->grh.sgid_index;
	out->grh.hop_limit = attr->grh.hop_limit;
	out->grh.traffic_class = attr->grh.traffic_class;
	out->dlid = attr->dlid;
	out->sl = attr->sl;
	out->src_path_bits = attr->src_path_bits;
	out->static_rate = attr->static_rate;
	out->is_global = attr->is_global;
	out->port_num = attr->port_num;
}

void rvc_qp_cap_to_engine(struct rosm_qp_cap *out,
			  const struct ibv_qp_cap *cap)
{
	out->max_send_wr = cap->max_send_wr;
	out->max_recv_wr = cap->max_recv_wr;
	out->max_send_sge = cap->max_send_sge;
	out->max_recv_sge = cap->max_recv_sge;
	out->max_inline_data = cap->max_inline_data;
}

void rvc_qp_cap_from_engine(struct ibv_qp_cap *out,
			    const struct rosm_qp_cap *cap)
{
	out->max_send_wr = cap->max_send_wr;
	out->max_recv_wr = cap->max_recv_wr;
	out->max_send_sge = cap->max_send_sge;
	out->max_recv_sge = cap->max_recv_sge;
	out->max_inline_data = cap->max_inline_data;
}

void rvc_qp_attr_to_engine(struct rosm_qp_attr *out,
			   const struct ibv_qp_attr *attr)
{
	memset(out, 0, sizeof(*out));
	out->qp_state = attr->qp_state;
	out->cur_qp_state = attr->cur_qp_state;
	out->path_mtu = attr->path_mtu;
	out->path_mig_state = attr->path_mig_state;
	out->qkey = attr->qkey;
	out->rq_psn = attr->rq_psn;
	out->sq_psn = attr->sq_psn;
	out->dest_qp_num = attr->dest_qp_num;
	out->qp_access_flags = attr->qp_access_flags;
	rvc_qp_cap_to_engine(&out->cap, &attr->cap);
	ah_to_engine(&out->ah, &attr->ah_attr);
	ah_to_engine(&out->alt_ah, &attr->alt_ah_attr);
	out->pkey_index = attr->pkey_index;
	out->alt_pkey_index = attr->alt_pkey_index;
	out->en_sqd_async_notify = attr->en_sqd_async_notify;
	out->max_rd_atomic = attr->max_rd_atomic;
	out->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	out->min_rnr_timer = attr->min_rnr_timer;
	out->port_num = attr->port_num;
	out->timeout = attr->timeout;
	out->retry_cnt = attr->retry_cnt;
	out->rnr_retry = attr->rnr_retry;
	out->alt_port_num = attr->alt_port_num;
	out->alt_timeout = attr->alt_timeout;
}

void rvc_qp_attr_from_engine(struct ibv_qp_attr *out,
			     const struct rosm_qp_attr *attr)
{
	memset(out, 0, sizeof(*out));
	out->qp_state = (enum ibv_qp_state)attr->qp_state;
	out->cur_qp_state = (enum ibv_qp_state)attr->cur_qp_state;
	out->path_mtu = (enum ibv_mtu)attr->path_mtu;
	out->path_mig_state = (enum ibv_mig_state)attr->path_mig_state;
	out->qkey = attr->qkey;
	out->rq_psn = attr->rq_psn;
	out->sq_psn = attr->sq_psn;
	out->dest_qp_num = attr->dest_qp_num;
	out->qp_access_flags = attr->qp_access_flags;
	rvc_qp_cap_from_engine(&out->cap, &attr->cap);
	ah_from_engine(&out->ah_attr, &attr->ah);
	ah_from_engine(&out->alt_ah_attr, &attr->alt_ah);
	out->pkey_index = attr->pkey_index;
	out->alt_pkey_index = attr->alt_pkey_index;
	out->en_sqd_async_notify = attr->en_sqd_async_notify;
	out->sq_draining = attr->sq_draining;
	out->max_rd_atomic = attr->max_rd_atomic;
	out->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	out->min_rnr_timer = attr->min_rnr_timer;
	out->port_num = attr->port_num;
	out->timeout = attr->timeout;
	out->retry_cnt = attr->retry_cnt;
	out->rnr_retry = attr->rnr_retry;
	out->alt_port_num = attr->alt_port_num;
	out->alt_timeout = attr->alt_timeout;
}
