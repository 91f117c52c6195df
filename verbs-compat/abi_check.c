/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layouts on which programs that were compiled elsewhere rely, as far as
 * this library fills them in: a header that says otherwise stops the build.
 * Numbers are those of the x86-64 ABI and hold for all versions of the header;
 * structs that grow are checked up to where they grew. Then the engine's own
 * structs and numbers, which this face hands through without translation.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include <pthread.h>

#define AT(type, member, offset)					\
	_Static_assert(offsetof(struct type, member) == (offset),	\
		       #type "." #member)
#define SIZE(type, size)						\
	_Static_assert(sizeof(struct type) == (size), "size of " #type)
#define SIZE_MIN(type, size)						\
	_Static_assert(sizeof(struct type) >= (size), "size of " #type)

_Static_assert(sizeof(void *) == 8, "rosm is for 64-bit systems");

/* A mutex is 40 bytes on x86-64; what follows one elsewhere lies later by MX. */
#define MX (sizeof(pthread_mutex_t) - 40)
_Static_assert(sizeof(pthread_cond_t) == 48, "size of pthread_cond_t");

SIZE(ibv_device, 664);
AT(ibv_device, node_type, 16);
AT(ibv_device, name, 24);
AT(ibv_device, dev_name, 88);
AT(ibv_device, dev_path, 152);
AT(ibv_device, ibdev_path, 408);
/* Direct-verbs libraries compare the pointer right behind the device. */
AT(rvc_device, provider_ops, 664);
AT(rvc_device, refcount, 672);
AT(rvc_device, entry, 680);
AT(rvc_device, sysfs, 696);
AT(rvc_device, core_support, 704);

SIZE(ibv_context_ops, 256);
AT(ibv_context_ops, alloc_mw, 56);
AT(ibv_context_ops, bind_mw, 64);
AT(ibv_context_ops, dealloc_mw, 72);
AT(ibv_context_ops, poll_cq, 88);
AT(ibv_context_ops, req_notify_cq, 96);
AT(ibv_context_ops, post_srq_recv, 160);
AT(ibv_context_ops, post_send, 200);
AT(ibv_context_ops, post_recv, 208);

SIZE(ibv_context, 328 + MX);
AT(ibv_context, device, 0);
AT(ibv_context, ops, 8);
AT(ibv_context, cmd_fd, 264);
AT(ibv_context, async_fd, 268);
AT(ibv_context, num_comp_vectors, 272);
AT(ibv_context, mutex, 280);
AT(ibv_context, abi_compat, 320 + MX);

/* It grows at its start: what is asked is the distance from its end. */
#define FROM_END(member, distance)					\
	_Static_assert(sizeof(struct verbs_context) -			\
		       offsetof(struct verbs_context, member) ==	\
		       (distance) + MX, "verbs_context." #member)
SIZE_MIN(verbs_context, 648 + MX);
FROM_END(context, 328);
FROM_END(sz, 336);
FROM_END(close_xrcd, 352);
FROM_END(open_xrcd, 360);
FROM_END(create_srq_ex, 368);
FROM_END(get_srq_num, 376);
FROM_END(create_qp_ex, 384);
FROM_END(open_qp, 392);
FROM_END(query_device_ex, 432);
FROM_END(priv, 440);
FROM_END(create_cq_ex, 448);
FROM_END(query_port, 648);

SIZE(ibv_comp_channel, 16);
AT(ibv_comp_channel, fd, 8);
AT(ibv_comp_channel, refcnt, 12);
SIZE(ibv_pd, 16);
AT(ibv_pd, handle, 8);
SIZE(ibv_mr, 48);
AT(ibv_mr, pd, 8);
AT(ibv_mr, addr, 16);
AT(ibv_mr, length, 24);
AT(ibv_mr, handle, 32);
AT(ibv_mr, lkey, 36);
AT(ibv_mr, rkey, 40);
SIZE(ibv_mw, 32);
SIZE(ibv_ah, 24);
SIZE(ibv_srq, 128 + MX);

SIZE(ibv_cq, 128 + MX);
AT(ibv_cq, channel, 8);
AT(ibv_cq, cq_context, 16);
AT(ibv_cq, handle, 24);
AT(ibv_cq, cqe, 28);
AT(ibv_cq, comp_events_completed, 120 + MX);
AT(ibv_cq, async_events_completed, 124 + MX);
SIZE(ibv_cq_ex, 288 + MX);
AT(ibv_cq_ex, async_events_completed, 124 + MX);
AT(ibv_cq_ex, comp_mask, 128 + MX);
AT(ibv_cq_ex, status, 132 + MX);
AT(ibv_cq_ex, wr_id, 136 + MX);
AT(ibv_cq_ex, start_poll, 144 + MX);

SIZE(ibv_qp, 160 + MX);
AT(ibv_qp, pd, 16);
AT(ibv_qp, send_cq, 24);
AT(ibv_qp, recv_cq, 32);
AT(ibv_qp, srq, 40);
AT(ibv_qp, handle, 48);
AT(ibv_qp, qp_num, 52);
AT(ibv_qp, state, 56);
AT(ibv_qp, qp_type, 60);
AT(ibv_qp, mutex, 64);
AT(ibv_qp, events_completed, 152 + MX);
SIZE_MIN(ibv_qp_ex, 352 + MX);
AT(ibv_qp_ex, comp_mask, 160 + MX);
AT(ibv_qp_ex, wr_id, 168 + MX);
AT(ibv_qp_ex, wr_flags, 176 + MX);
AT(ibv_qp_ex, wr_atomic_cmp_swp, 184 + MX);

SIZE(ibv_wc, 48);
SIZE(ibv_send_wr, 128);
SIZE(ibv_recv_wr, 32);
SIZE(ibv_sge, 16);
SIZE(ibv_qp_attr, 144);
SIZE(ibv_qp_init_attr, 64);
SIZE(ibv_qp_init_attr_ex, 136);
SIZE(ibv_device_attr, 232);
/* Old programs give the first 48 bytes only: _compat_ibv_port_attr. */
SIZE_MIN(ibv_port_attr, 52);
AT(ibv_port_attr, link_layer, 46);
AT(ibv_port_attr, flags, 47);
AT(ibv_port_attr, port_cap_flags2, 48);
SIZE(ibv_gid_entry, 32);
SIZE(ibv_async_event, 16);
SIZE(ibv_grh, 40);

/* ---- the engine's, handed through ---------------------------------------- */

/* Headers newer than ours find their operations in what follows ours. */
_Static_assert(offsetof(struct rvc_qp, ibex_grown) == sizeof(struct ibv_qp_ex),
	       "rvc_qp.ibex_grown");

#define SAME_AT(ours, our_member, theirs, their_member)			\
	_Static_assert(offsetof(struct ours, our_member) ==		\
		       offsetof(struct theirs, their_member) &&		\
		       sizeof(((struct ours *)0)->our_member) ==	\
		       sizeof(((struct theirs *)0)->their_member),	\
		       #ours "." #our_member)
#define SAME_SIZE(ours, theirs)						\
	_Static_assert(sizeof(struct ours) == sizeof(struct theirs), #ours)

SAME_SIZE(rosm_wc, ibv_wc);
SAME_AT(rosm_wc, wr_id, ibv_wc, wr_id);
SAME_AT(rosm_wc, status, ibv_wc, status);
SAME_AT(rosm_wc, opcode, ibv_wc, opcode);
SAME_AT(rosm_wc, vendor_err, ibv_wc, vendor_err);
SAME_AT(rosm_wc, byte_len, ibv_wc, byte_len);
SAME_AT(rosm_wc, imm, ibv_wc, imm_data);
SAME_AT(rosm_wc, qp_num, ibv_wc, qp_num);
SAME_AT(rosm_wc, src_qp, ibv_wc, src_qp);
SAME_AT(rosm_wc, wc_flags, ibv_wc, wc_flags);
SAME_AT(rosm_wc, pkey_index, ibv_wc, pkey_index);
SAME_AT(rosm_wc, slid, ibv_wc, slid);
SAME_AT(rosm_wc, sl, ibv_wc, sl);
SAME_AT(rosm_wc, dlid_path_bits, ibv_wc, dlid_path_bits);

SAME_SIZE(rosm_sge, ibv_sge);
SAME_AT(rosm_sge, addr, ibv_sge, addr);
SAME_AT(rosm_sge, length, ibv_sge, length);
SAME_AT(rosm_sge, lkey, ibv_sge, lkey);

#define SAME(name)							\
	_Static_assert((int)ROSM_##name == (int)IBV_##name, #name)

SAME(WC_SUCCESS);
SAME(WC_LOC_LEN_ERR);
SAME(WC_LOC_QP_OP_ERR);
SAME(WC_LOC_EEC_OP_ERR);
SAME(WC_LOC_PROT_ERR);
SAME(WC_WR_FLUSH_ERR);
SAME(WC_MW_BIND_ERR);
SAME(WC_BAD_RESP_ERR);
SAME(WC_LOC_ACCESS_ERR);
SAME(WC_REM_INV_REQ_ERR);
SAME(WC_REM_ACCESS_ERR);
SAME(WC_REM_OP_ERR);
SAME(WC_RETRY_EXC_ERR);
SAME(WC_RNR_RETRY_EXC_ERR);
SAME(WC_FATAL_ERR);
SAME(WC_GENERAL_ERR);

SAME(WC_SEND);
SAME(WC_RDMA_WRITE);
SAME(WC_RDMA_READ);
SAME(WC_COMP_SWAP);
SAME(WC_FETCH_ADD);
SAME(WC_RECV);
SAME(WC_RECV_RDMA_WITH_IMM);
SAME(WC_GRH);
SAME(WC_WITH_IMM);

SAME(WR_RDMA_WRITE);
SAME(WR_RDMA_WRITE_WITH_IMM);
SAME(WR_SEND);
SAME(WR_SEND_WITH_IMM);
SAME(WR_RDMA_READ);

SAME(SEND_FENCE);
SAME(SEND_SIGNALED);
SAME(SEND_SOLICITED);
SAME(SEND_INLINE);

SAME(QPT_RC);
SAME(QPT_UC);
SAME(QPT_UD);
SAME(QPT_XRC_SEND);
SAME(QPT_XRC_RECV);

SAME(QPS_RESET);
SAME(QPS_INIT);
SAME(QPS_RTR);
SAME(QPS_RTS);
SAME(QPS_SQD);
SAME(QPS_SQE);
SAME(QPS_ERR);

SAME(ACCESS_LOCAL_WRITE);
SAME(ACCESS_REMOTE_WRITE);
SAME(ACCESS_REMOTE_READ);
SAME(ACCESS_REMOTE_ATOMIC);

SAME(QP_STATE);
SAME(QP_CUR_STATE);
SAME(QP_EN_SQD_ASYNC_NOTIFY);
SAME(QP_ACCESS_FLAGS);
SAME(QP_PKEY_INDEX);
SAME(QP_PORT);
SAME(QP_QKEY);
SAME(QP_AV);
SAME(QP_PATH_MTU);
SAME(QP_TIMEOUT);
SAME(QP_RETRY_CNT);
SAME(QP_RNR_RETRY);
SAME(QP_RQ_PSN);
SAME(QP_MAX_QP_RD_ATOMIC);
SAME(QP_ALT_PATH);
SAME(QP_MIN_RNR_TIMER);
SAME(QP_SQ_PSN);
SAME(QP_MAX_DEST_RD_ATOMIC);
SAME(QP_PATH_MIG_STATE);
SAME(QP_CAP);
SAME(QP_DEST_QPN);

SAME(EVENT_CQ_ERR);
SAME(EVENT_QP_FATAL);
SAME(EVENT_QP_REQ_ERR);
SAME(EVENT_QP_ACCESS_ERR);
SAME(EVENT_COMM_EST);
SAME(EVENT_SQ_DRAINED);
