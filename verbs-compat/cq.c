/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues. The address of rvc_poll_cq in a context is also the mark
 * by which our contexts are known (rvc_foreign), so the functions reached
 * through a context need not ask whose object they got. Completions go from
 * the engine into the application's array at once: struct rosm_wc has the
 * layout of struct ibv_wc, see abi_check.c.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "verbs-compat/passthru.h"

#include <pthread.h>
#include <stdlib.h>

int rvc_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return rosm_cq_poll(rvc_cq(cq)->eng, num_entries,
			    (struct rosm_wc *)wc);
}

/* Without a channel there is nobody to be told. */
int rvc_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int err;

	if (!cq->channel)
		return 0;
	err = rosm_cq_arm(rvc_cq(cq)->eng, solicited_only != 0);
	return err ? rvc_err(-err) : 0;
}

static void channel_hold(struct ibv_comp_channel *channel, int by)
{
	if (!channel)
		return;
	pthread_mutex_lock(&channel->context->mutex);
	channel->refcnt += by;
	pthread_mutex_unlock(&channel->context->mutex);
}

static struct ibv_cq *create_own(struct ibv_context *context, int cqe,
				 void *cq_context,
				 struct ibv_comp_channel *channel,
				 int comp_vector)
{
	uint32_t got;
	struct rvc_cq *cq;
	int err;

	if (cqe <= 0 || comp_vector < 0 ||
	    comp_vector >= context->num_comp_vectors ||
	    (channel && channel->context != context))
		return rvc_null(EINVAL);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return rvc_null(ENOMEM);
	err = rvc_handle_alloc(RVC_CQ, cq, &cq->ibcq.handle);
	if (err)
		goto free_memory;
	cq->ibcq.context = context;
	cq->ibcq.channel = channel;
	cq->ibcq.cq_context = cq_context;
	pthread_mutex_init(&cq->ibcq.mutex, NULL);
	pthread_cond_init(&cq->ibcq.cond, NULL);
	err = rosm_cq_create(rvc_context(context)->eng, (uint32_t)cqe,
			     channel ? rvc_channel(channel)->eng : NULL,
			     rvc_cookie(cq->ibcq.handle), &got, &cq->eng);
	if (err)
		goto free_handle;
	cq->ibcq.cqe = (int)got;
	channel_hold(channel, 1);
	return &cq->ibcq;

free_handle:
	pthread_cond_destroy(&cq->ibcq.cond);
	pthread_mutex_destroy(&cq->ibcq.mutex);
	rvc_handle_free(RVC_CQ, cq->ibcq.handle);
free_memory:
	free(cq);
	return rvc_null(-err);
}

RVC_EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
					void *cq_context,
					struct ibv_comp_channel *channel,
					int comp_vector)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_create_cq(context, cqe, cq_context, channel,
					     comp_vector);
	return create_own(context, cqe, cq_context, channel, comp_vector);
}

RVC_EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	uint32_t got;
	int err;

	if (rvc_foreign(cq->context))
		return rvc_sys.ibv_resize_cq(cq, cqe);
	if (!rvc_handle_is(RVC_CQ, cq->handle, cq))
		return rvc_err(ENOENT);
	if (cqe <= 0)
		return rvc_err(EINVAL);
	err = rosm_cq_resize(rvc_cq(cq)->eng, (uint32_t)cqe, &got);
	if (err)
		return rvc_err(-err);
	cq->cqe = (int)got;
	return 0;
}

static void free_cq(struct rvc_cq *cq)
{
	pthread_cond_destroy(&cq->ibcq.cond);
	pthread_mutex_destroy(&cq->ibcq.mutex);
	free(cq);
}

/* All events that were read are acknowledged before the CQ goes. */
static int destroy_own(struct rvc_cq *cq)
{
	struct ibv_cq *ibcq = &cq->ibcq;
	int err;

	if (!rvc_handle_is(RVC_CQ, ibcq->handle, cq))
		return rvc_err(ENOENT);
	err = rosm_cq_destroy(cq->eng);
	if (err)
		return rvc_err(-err);
	/* From here on no reader of events finds it: the counts stand. */
	rvc_handle_free(RVC_CQ, ibcq->handle);
	pthread_mutex_lock(&ibcq->mutex);
	while (ibcq->comp_events_completed != cq->comp_reported ||
	       ibcq->async_events_completed != cq->async_reported)
		pthread_cond_wait(&ibcq->cond, &ibcq->mutex);
	pthread_mutex_unlock(&ibcq->mutex);
	channel_hold(ibcq->channel, -1);
	free_cq(cq);
	return 0;
}

void rvc_cq_release(void *object)
{
	struct rvc_cq *cq = object;

	rosm_cq_destroy(cq->eng);
	free_cq(cq);
}

RVC_EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (rvc_foreign(cq->context))
		return rvc_sys.ibv_destroy_cq(cq);
	return destroy_own(rvc_cq(cq));
}
