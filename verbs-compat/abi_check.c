/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layouts on which programs that were compiled elsewhere rely, as far as
 * this library fills them in: a header that says otherwise stops the build.
 * Numbers are those of the x86-64 ABI and hold for all versions of the header;
 * structs that grow are checked up to where they grew.
 */
#include <config.h>

#include "verbs-compat/rvc.h"

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
