/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: create, modify, query, destroy. Posting is in post.c and, for
 * ibv_wr_*, in qp_ex.c. The state that applications read in struct ibv_qp
 * follows ibv_modify_qp and ibv_query_qp, as the ABI has it.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "verbs-compat/passthru.h"

#include <pthread.h>
#include <stdlib.h>

/* 0, or why there is no queue pair of this type. */
static int check_type(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return 0;
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_RAW_PACKET:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
	case IBV_QPT_DRIVER:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

static int check_init(const struct ibv_pd *pd,
		      const struct ibv_qp_init_attr *attr)
{
	int err = check_type(attr->qp_type);

	if (err)
		return err;
	if (attr->srq)
		return -EOPNOTSUPP;
	if (!attr->send_cq || attr->send_cq->context != pd->context ||
	    !attr->recv_cq || attr->recv_cq->context != pd->context)
		return -EINVAL;
	return 0;
}

static int create_engine_qp(struct rvc_qp *qp, struct ibv_pd *pd,
			    struct ibv_qp_init_attr *attr)
{
	struct rosm_qp_init init = {
		.type = (enum rosm_qp_type)attr->qp_type,
		.send_cq = rvc_cq(attr->send_cq)->eng,
		.recv_cq = rvc_cq(attr->recv_cq)->eng,
		.sq_sig_all = attr->sq_sig_all != 0,
		.cookie = rvc_cookie(qp->ibqp.handle),
	};
	int err;

	rvc_qp_cap_to_engine(&init.cap, &attr->cap);
	err = rosm_qp_create(rvc_pd(pd)->eng, &init, &qp->eng);
	if (!err)
		rvc_qp_cap_from_engine(&attr->cap, &init.cap);
	return err;
}

static struct ibv_qp *create_own(struct ibv_pd *pd,
				 struct ibv_qp_init_attr *attr, bool send_ops)
{
	struct ibv_qp_cap asked = attr->cap;
	struct rvc_qp *qp;
	int err;

	err = check_init(pd, attr);
	if (err)
		return rvc_null(-err);
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return rvc_null(ENOMEM);
	err = rvc_handle_alloc(RVC_QP, qp, &qp->ibqp.handle);
	if (err)
		goto free_memory;
	/* An event may name it as soon as the engine has it. */
	qp->ibqp.context = pd->context;
	qp->ibqp.qp_context = attr->qp_context;
	pthread_mutex_init(&qp->ibqp.mutex, NULL);
	pthread_cond_init(&qp->ibqp.cond, NULL);
	err = create_engine_qp(qp, pd, attr);
	if (err)
		goto free_handle;
	qp->ibqp.pd = pd;
	qp->ibqp.send_cq = attr->send_cq;
	qp->ibqp.recv_cq = attr->recv_cq;
	qp->ibqp.qp_num = rosm_qp_num(qp->eng);
	qp->ibqp.state = IBV_QPS_RESET;
	qp->ibqp.qp_type = attr->qp_type;
	if (send_ops) {
		err = rvc_batch_create(qp, &attr->cap);
		if (err)
			goto destroy_engine_qp;
	}
	return &qp->ibqp;

destroy_engine_qp:
	rosm_qp_destroy(qp->eng);
	attr->cap = asked;
free_handle:
	pthread_cond_destroy(&qp->ibqp.cond);
	pthread_mutex_destroy(&qp->ibqp.mutex);
	rvc_handle_free(RVC_QP, qp->ibqp.handle);
free_memory:
	free(qp);
	return rvc_null(-err);
}

RVC_EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd,
					struct ibv_qp_init_attr *attr)
{
	if (rvc_foreign(pd->context))
		return rvc_sys.ibv_create_qp(pd, attr);
	return create_own(pd, attr, false);
}

/*
 * struct ibv_qp_init_attr_ex begins with the fields of ibv_qp_init_attr. Bits
 * of comp_mask and of create_flags that ask for more than an RC queue pair has
 * are refused, so that a program may do without.
 */
struct ibv_qp *rvc_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS |
			       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	const uint64_t ops = IBV_QP_EX_WITH_RDMA_WRITE |
			     IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
			     IBV_QP_EX_WITH_SEND |
			     IBV_QP_EX_WITH_SEND_WITH_IMM |
			     IBV_QP_EX_WITH_RDMA_READ;
	bool send_ops = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

	if (attr->comp_mask & ~known)
		return rvc_null(EOPNOTSUPP);
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return rvc_null(EOPNOTSUPP);
	if (send_ops && (attr->send_ops_flags & ~ops))
		return rvc_null(EOPNOTSUPP);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != context)
		return rvc_null(EINVAL);
	return create_own(attr->pd, (struct ibv_qp_init_attr *)attr, send_ops);
}

RVC_EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_qp_to_qp_ex(qp);
	return rvc_qp(qp)->batch ? &rvc_qp(qp)->ibex : NULL;
}

RVC_EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			     int attr_mask)
{
	struct rosm_qp_attr eng_attr;
	int err;

	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_modify_qp(qp, attr, attr_mask);
	if (!rvc_handle_is(RVC_QP, qp->handle, qp))
		return rvc_err(ENOENT);
	rvc_qp_attr_to_engine(&eng_attr, attr);
	err = rosm_qp_modify(rvc_qp(qp)->eng, &eng_attr, (uint32_t)attr_mask);
	if (err)
		return rvc_err(-err);
	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

/* Everything is filled in, whatever the mask asks for: ibv_query_qp(3). */
RVC_EXPORT int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			    int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct rosm_qp_attr eng_attr;
	struct rosm_qp_init eng_init;
	int err;

	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_query_qp(qp, attr, attr_mask, init_attr);
	if (!rvc_handle_is(RVC_QP, qp->handle, qp))
		return rvc_err(ENOENT);
	err = rosm_qp_query(rvc_qp(qp)->eng, &eng_attr, &eng_init);
	if (err)
		return rvc_err(-err);
	rvc_qp_attr_from_engine(attr, &eng_attr);
	init_attr->qp_context = qp->qp_context;
	init_attr->send_cq = qp->send_cq;
	init_attr->recv_cq = qp->recv_cq;
	init_attr->srq = qp->srq;
	rvc_qp_cap_from_engine(&init_attr->cap, &eng_init.cap);
	init_attr->qp_type = qp->qp_type;
	init_attr->sq_sig_all = eng_init.sq_sig_all;
	qp->state = attr->qp_state;
	return 0;
}

/* No promise beyond the verbs' own: ibv_query_qp_data_in_order(3). */
RVC_EXPORT int ibv_query_qp_data_in_order(struct ibv_qp *qp,
					  enum ibv_wr_opcode op,
					  uint32_t flags)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_query_qp_data_in_order(qp, op, flags);
	return 0;
}

static void free_qp(struct rvc_qp *qp)
{
	rvc_batch_destroy(qp);
	pthread_cond_destroy(&qp->ibqp.cond);
	pthread_mutex_destroy(&qp->ibqp.mutex);
	free(qp);
}

/* All events that were read are acknowledged before the QP goes. */
static int destroy_own(struct rvc_qp *qp)
{
	struct ibv_qp *ibqp = &qp->ibqp;
	int err;

	if (!rvc_handle_is(RVC_QP, ibqp->handle, qp))
		return rvc_err(ENOENT);
	err = rosm_qp_destroy(qp->eng);
	if (err)
		return rvc_err(-err);
	/* From here on no reader of events finds it: the count stands. */
	rvc_handle_free(RVC_QP, ibqp->handle);
	pthread_mutex_lock(&ibqp->mutex);
	while (ibqp->events_completed != qp->async_reported)
		pthread_cond_wait(&ibqp->cond, &ibqp->mutex);
	pthread_mutex_unlock(&ibqp->mutex);
	free_qp(qp);
	return 0;
}

void rvc_qp_release(void *object)
{
	struct rvc_qp *qp = object;

	rosm_qp_destroy(qp->eng);
	free_qp(qp);
}

RVC_EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_destroy_qp(qp);
	return destroy_own(rvc_qp(qp));
}

/* Enhanced connection establishment is between vendors' firmwares. */
RVC_EXPORT int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_set_ece(qp, ece);
	return rvc_err(EOPNOTSUPP);
}

RVC_EXPORT int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	if (rvc_foreign(qp->context))
		return rvc_sys.ibv_query_ece(qp, ece);
	return rvc_err(EOPNOTSUPP);
}
