/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels and asynchronous events.
 */
#include <config.h>

#include "verbs-compat/passthru.h"

RVC_EXPORT struct ibv_comp_channel *
ibv_create_comp_channel(struct ibv_context *context)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_create_comp_channel(context);
	return rvc_null(EOPNOTSUPP);
}

RVC_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	if (rvc_foreign(channel->context))
		return rvc_sys.ibv_destroy_comp_channel(channel);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel,
				struct ibv_cq **cq, void **cq_context)
{
	if (rvc_foreign(channel->context))
		return rvc_sys.ibv_get_cq_event(channel, cq, cq_context);
	return rvc_minus_one(EOPNOTSUPP);
}

RVC_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	if (rvc_foreign(cq->context))
		rvc_sys.ibv_ack_cq_events(cq, nevents);
}

RVC_EXPORT int ibv_get_async_event(struct ibv_context *context,
				   struct ibv_async_event *event)
{
	if (rvc_foreign(context))
		return rvc_sys.ibv_get_async_event(context, event);
	return rvc_minus_one(EOPNOTSUPP);
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

/* Events of no object need no acknowledgement. */
RVC_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	const struct ibv_context *context = event_context(event);

	if (context && rvc_foreign(context))
		rvc_sys.ibv_ack_async_event(event);
}
