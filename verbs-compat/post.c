/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ibv_post_send and ibv_post_recv: lists of requests, one call of the engine
 * each. A scatter/gather list goes through as it is, see abi_check.c. Locking
 * is the engine's.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "util/compiler.h"

/* What the engine knows; IBV_SEND_IP_CSUM is not offered. */
static const unsigned int send_flags =
	IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |
	IBV_SEND_INLINE;

int rvc_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct rosm_qp *eng = rvc_qp(ibqp)->eng;
	int err;

	for (; wr; wr = wr->next) {
		const struct rosm_send_wr one = {
			.wr_id = wr->wr_id,
			.opcode = wr->opcode,
			.flags = wr->send_flags,
			.sg_list = (const struct rosm_sge *)wr->sg_list,
			.num_sge = (uint32_t)wr->num_sge,
			.imm = wr->imm_data,
			.remote_addr = wr->wr.rdma.remote_addr,
			.rkey = wr->wr.rdma.rkey,
		};

		err = ru_unlikely(wr->send_flags & ~send_flags)
			? -EINVAL : rosm_qp_post_send(eng, &one);
		if (ru_unlikely(err)) {
			*bad_wr = wr;
			return rvc_err(-err);
		}
	}
	return 0;
}

int rvc_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct rosm_qp *eng = rvc_qp(ibqp)->eng;
	int err;

	for (; wr; wr = wr->next) {
		const struct rosm_recv_wr one = {
			.wr_id = wr->wr_id,
			.sg_list = (const struct rosm_sge *)wr->sg_list,
			.num_sge = (uint32_t)wr->num_sge,
		};

		err = rosm_qp_post_recv(eng, &one);
		if (ru_unlikely(err)) {
			*bad_wr = wr;
			return rvc_err(-err);
		}
	}
	return 0;
}
