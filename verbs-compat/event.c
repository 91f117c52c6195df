/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels and asynchronous events. Reading an event counts it as
 * reported at its object, under the lock of the handles; acknowledging counts
 * it under the object's own mutex; destroying waits until both agree. An event
 * whose object is gone is skipped.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "verbs-compat/passthru.h"

#include <pthread.h>
#include <stdlib.h>

static struct ibv_comp_channel *create_own(struct ibv_context *context)
{
	struct rvc_channel *ch = calloc(1, sizeof(*ch));
	int err;

	if (!ch)
		return rvc_null(ENOMEM);
	err = rvc_handle_alloc(RVC_CHANNEL, ch, &ch->handle);
	if (err)
		goto free_channel;
	err = rosm_channel_create(rvc_context(context)->eng, &ch->eng);
	if (err)
		goto free_handle;
	ch->ibch.context = context;
	ch->ibch.fd = rosm_channel_fd(ch->eng);
	return &ch->ibch;

free_handle:
	rvc_handle_free(RVC_CHANNEL, ch->handle);
free_channel:
	free(ch);
	return rvc_null(-err);
}

RVC_EXPORT struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_create_comp_channel(context);
	return create_own(context);
}

RVC_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	bool used;
	int err;

	if (rvc_foreign(channel->context))
		return rvc_sys.ibv_destroy_comp_channel(channel);
	pthread_mutex_lock(&channel->context->mutex);
	used = channel->refcnt != 0;
	pthread_mutex_unlock(&channel->context->mutex);
	if (used)
		return rvc_err(EBUSY);
	err = rosm_channel_destroy(rvc_channel(channel)->eng);
	if (err)
		return rvc_err(-err);
	rvc_handle_free(RVC_CHANNEL, rvc_channel(channel)->handle);
	free(channel);
	return 0;
}

void rvc_channel_release(void *object)
{
	struct rvc_channel *ch = object;

	rosm_channel_destroy(ch->eng);
	free(ch);
}

static int get_own_cq_event(struct rvc_channel *ch, struct ibv_cq **ibcq,
			    void **cq_context)
{
	struct rvc_cq *cq;
	void *cookie;
	int err;

	do {
		err = rosm_channel_get_event(ch->eng, &cookie);
		if (err)
			return rvc_minus_one(-err);
		rvc_handles_lock();
		cq = rvc_handle_get_locked(RVC_CQ, cookie);
		if (cq) {
			cq->comp_reported++;
			*ibcq = &cq->ibcq;
			*cq_context = cq->ibcq.cq_context;
		}
		rvc_handles_unlock();
	} while (!cq);
	return 0;
}

RVC_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel,
				struct ibv_cq **cq, void **cq_context)
{
	if (rvc_foreign(channel->context))
		return rvc_sys.ibv_get_cq_event(channel, cq, cq_context);
	return get_own_cq_event(rvc_channel(channel), cq, cq_context);
}

RVC_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (rvc_foreign(cq->context)) {
		rvc_sys.ibv_ack_cq_events(cq, nevents);
		return;
	}
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* ---- asynchronous events ------------------------------------------------- */

/* The engine numbers its events as the ABI does: abi_check.c. */
static bool event_report(const struct rosm_async_event *ev,
			 struct ibv_async_event *event)
{
	bool found;

	rvc_handles_lock();
	if (ev->type == ROSM_EVENT_CQ_ERR) {
		struct rvc_cq *cq = rvc_handle_get_locked(RVC_CQ, ev->cookie);

		found = cq != NULL;
		if (found) {
			cq->async_reported++;
			event->element.cq = &cq->ibcq;
		}
	} else {
		struct rvc_qp *qp = rvc_handle_get_locked(RVC_QP, ev->cookie);

		found = qp != NULL;
		if (found) {
			qp->async_reported++;
			event->element.qp = &qp->ibqp;
		}
	}
	rvc_handles_unlock();
	if (found)
		event->event_type = (enum ibv_event_type)ev->type;
	return found;
}

RVC_EXPORT int ibv_get_async_event(struct ibv_context *context,
				   struct ibv_async_event *event)
{
	struct rosm_async_event ev;
	int err;

	if (rvc_foreign(context))
		return rvc_sys.ibv_get_async_event(context, event);
	do {
		err = rosm_ctx_get_async(rvc_context(context)->eng, &ev);
		if (err)
			return rvc_minus_one(-err);
	} while (!event_report(&ev, event));
	return 0;
}

/* The context of the object an event names; NULL for port and device events. */
static const struct ibv_context *event_context(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return event->element.cq->context;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return event->element.qp->context;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return event->element.srq->context;
	case IBV_EVENT_WQ_FATAL:
		return event->element.wq->context;
	default:
		return NULL;
	}
}

static void ack_cq(struct ibv_cq *cq)
{
	pthread_mutex_lock(&cq->mutex);
	cq->async_events_completed++;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

static void ack_qp(struct ibv_qp *qp)
{
	pthread_mutex_lock(&qp->mutex);
	qp->events_completed++;
	pthread_cond_signal(&qp->cond);
	pthread_mutex_unlock(&qp->mutex);
}

/* Events of no object need no acknowledgement. */
RVC_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	const struct ibv_context *context = event_context(event);

	if (!context)
		return;
	if (rvc_foreign(context))
		rvc_sys.ibv_ack_async_event(event);
	else if (event->event_type == IBV_EVENT_CQ_ERR)
		ack_cq(event->element.cq);
	else
		ack_qp(event->element.qp);
}
