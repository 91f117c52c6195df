/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing a device. A context carries all function pointers that
 * the inline verbs of <infiniband/verbs.h> call without asking; what the
 * device does not have answers EOPNOTSUPP. Those answers look at no argument,
 * so that one function serves every prototype of its kind of result.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "verbs-compat/passthru.h"

#include <pthread.h>
#include <stdlib.h>

static int no_such_verb(void)
{
	return rvc_err(EOPNOTSUPP);
}

static void *no_such_object(void)
{
	return rvc_null(EOPNOTSUPP);
}

#define NO_VERB ((void *)no_such_verb)
#define NO_OBJECT ((void *)no_such_object)

static int no_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	(void)srq;
	*bad_wr = wr;
	return rvc_err(EOPNOTSUPP);
}

static const struct verbs_context own_context = {
	.query_port = rvc_query_port,
	.advise_mr = NO_VERB,
	.alloc_null_mr = NO_OBJECT,
	.read_counters = NO_VERB,
	.attach_counters_point_flow = NO_VERB,
	.create_counters = NO_OBJECT,
	.destroy_counters = NO_VERB,
	.reg_dm_mr = NO_OBJECT,
	.alloc_dm = NO_OBJECT,
	.free_dm = NO_VERB,
	.modify_flow_action_esp = NO_VERB,
	.destroy_flow_action = NO_VERB,
	.create_flow_action_esp = NO_OBJECT,
	.modify_qp_rate_limit = NO_VERB,
	.alloc_parent_domain = NO_OBJECT,
	.dealloc_td = NO_VERB,
	.alloc_td = NO_OBJECT,
	.modify_cq = NO_VERB,
	.post_srq_ops = NO_VERB,
	.destroy_rwq_ind_table = NO_VERB,
	.create_rwq_ind_table = NO_OBJECT,
	.destroy_wq = NO_VERB,
	.modify_wq = NO_VERB,
	.create_wq = NO_OBJECT,
	.query_rt_values = NO_VERB,
	.create_cq_ex = NO_OBJECT,
	.query_device_ex = rvc_query_device_ex,
	.ibv_destroy_flow = NO_VERB,
	.ABI_placeholder2 = NO_VERB,	/* destroy_flow, once */
	.ibv_create_flow = NO_OBJECT,
	.ABI_placeholder1 = NO_OBJECT,	/* create_flow, once */
	.open_qp = NO_OBJECT,
	.create_qp_ex = rvc_create_qp_ex,
	.get_srq_num = NO_VERB,
	.create_srq_ex = NO_OBJECT,
	.open_xrcd = NO_OBJECT,
	.close_xrcd = NO_VERB,
	.sz = sizeof(struct verbs_context),
	.context = {
		.ops = {
			._compat_query_device = ibv_query_device,
			._compat_query_port = ibv_query_port,
			.alloc_mw = NO_OBJECT,
			.bind_mw = NO_VERB,
			.dealloc_mw = NO_VERB,
			.poll_cq = rvc_poll_cq,
			.req_notify_cq = rvc_req_notify_cq,
			.post_srq_recv = no_srq_recv,
			.post_send = rvc_post_send,
			.post_recv = rvc_post_recv,
		},
		.cmd_fd = -1,
		.abi_compat = __VERBS_ABI_IS_EXTENDED,
	},
};

static struct ibv_context *open_own(struct ibv_device *device)
{
	struct ibv_context *context;
	struct rvc_context *ctx = calloc(1, sizeof(*ctx));
	int err;

	if (!ctx)
		return rvc_null(ENOMEM);
	err = rosm_ctx_open(&ctx->eng);
	if (err) {
		free(ctx);
		return rvc_null(-err);
	}
	ctx->vctx = own_context;
	context = &ctx->vctx.context;
	context->device = device;
	context->async_fd = rosm_ctx_async_fd(ctx->eng);
	context->num_comp_vectors = (int)rosm_device_limits()->comp_vectors;
	pthread_mutex_init(&context->mutex, NULL);
	return context;
}

RVC_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	if (!rvc_is_own_device(device))
		return rvc_sys.ibv_open_device(device);
	return open_own(device);
}

/*
 * A device is closed with all that is left of it, as the kernel does when it
 * closes a real one. Programs rely on that.
 */
static void release_objects(struct ibv_context *context)
{
	static void (*const release[RVC_CLASSES])(void *object) = {
		[RVC_QP] = rvc_qp_release,
		[RVC_MR] = rvc_mr_release,
		[RVC_CQ] = rvc_cq_release,
		[RVC_CHANNEL] = rvc_channel_release,
		[RVC_PD] = rvc_pd_release,
	};

	for (int class = 0; class < RVC_CLASSES; class++) {
		uint32_t index = 0;
		void *object;

		while ((object = rvc_handle_take(class, context, &index)))
			release[class](object);
	}
}

RVC_EXPORT int ibv_close_device(struct ibv_context *context)
{
	int err;

	if (rvc_foreign(context))
		return rvc_sys.ibv_close_device(context);
	release_objects(context);
	err = rosm_ctx_close(rvc_context(context)->eng);
	if (err)
		return rvc_minus_one(-err);
	pthread_mutex_destroy(&context->mutex);
	free(rvc_context(context));
	return 0;
}

/* A command fd is the kernel's: only the system's library can know it. */
RVC_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	return rvc_sys_path() ? rvc_sys.ibv_import_device(cmd_fd)
			      : rvc_null(EOPNOTSUPP);
}
