/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our objects behind the structs that applications hold. Each is one heap
 * block made by its create verb and freed by its destroy verb; the engine's
 * object in it lives as long. PDs, MRs, CQs and QPs have a handle, a number in
 * a table of their class: it proves that the application's pointer is (still)
 * one of ours, and it is the cookie by which the engine names an object in an
 * event, so that an event read late finds nothing instead of freed memory.
 * Channels have a handle too, that the ABI does not show: closing a device
 * finds by the tables what the application left.
 *
 * One mutex guards the tables and the counts of reported events. It is never
 * held over a call of the engine; the mutex inside a struct ibv_cq or ibv_qp
 * guards the counts of acknowledged events, as the ABI has it.
 */
#ifndef RVC_OBJECT_H
#define RVC_OBJECT_H

#include "verbs-compat/rvc.h"
#include "engine/rosm.h"

struct rvc_context {
	struct rosm_ctx *eng;
	struct verbs_context vctx;	/* grows at its start, in the ABI */
};

struct rvc_pd {
	struct ibv_pd ibpd;
	struct rosm_pd *eng;
};

struct rvc_mr {
	struct ibv_mr ibmr;
	struct rosm_mr *eng;
};

struct rvc_channel {
	struct ibv_comp_channel ibch;
	struct rosm_channel *eng;
	uint32_t handle;
};

struct rvc_cq {
	union {
		struct ibv_cq ibcq;
		struct ibv_cq_ex ibex;
	};
	struct rosm_cq *eng;
	uint32_t comp_reported;
	uint32_t async_reported;
};

struct rvc_batch;

struct rvc_qp {
	union {
		struct ibv_qp ibqp;
		struct ibv_qp_ex ibex;
	};
	/* Where headers newer than ours have more ibv_wr_* operations. */
	void (*ibex_grown[6])(struct ibv_qp_ex *ex);
	struct rosm_qp *eng;
	struct rvc_batch *batch;	/* NULL: made without send operations */
	uint32_t async_reported;
};

static inline struct rvc_context *rvc_context(struct ibv_context *context)
{
	return (void *)((char *)context -
			offsetof(struct rvc_context, vctx.context));
}

static inline struct rvc_pd *rvc_pd(struct ibv_pd *ibpd)
{
	return (struct rvc_pd *)ibpd;
}

static inline struct rvc_mr *rvc_mr(struct ibv_mr *ibmr)
{
	return (struct rvc_mr *)ibmr;
}

static inline struct rvc_channel *rvc_channel(struct ibv_comp_channel *ibch)
{
	return (struct rvc_channel *)ibch;
}

static inline struct rvc_cq *rvc_cq(struct ibv_cq *ibcq)
{
	return (struct rvc_cq *)ibcq;
}

static inline struct rvc_qp *rvc_qp(struct ibv_qp *ibqp)
{
	return (struct rvc_qp *)ibqp;
}

enum rvc_class {
	RVC_QP,		/* in the order in which they can be destroyed */
	RVC_MR,
	RVC_CQ,
	RVC_CHANNEL,
	RVC_PD,
	RVC_CLASSES
};

/* 0 or -errno. */
int rvc_handle_alloc(enum rvc_class class, void *object, uint32_t *handle_out);
void rvc_handle_free(enum rvc_class class, uint32_t handle);

/* Whether the handle names this object. */
bool rvc_handle_is(enum rvc_class class, uint32_t handle, const void *object);

/*
 * An object of this context, whose handle is thereby freed; NULL: none is
 * left. *index is 0 at first.
 */
void *rvc_handle_take(enum rvc_class class, const struct ibv_context *context,
		      uint32_t *index);

/* The object of an engine's cookie, NULL if it is gone. */
void rvc_handles_lock(void);
void rvc_handles_unlock(void);
void *rvc_handle_get_locked(enum rvc_class class, const void *cookie);

static inline void *rvc_cookie(uint32_t handle)
{
	return (void *)(uintptr_t)handle;
}

/* ---- verbs that are reached through a context only ---------------------- */

int rvc_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int rvc_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr);
int rvc_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr);
int rvc_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *attr, size_t attr_len);
int rvc_query_device_ex(struct ibv_context *context,
			const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr, size_t attr_size);
struct ibv_qp *rvc_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *attr);

/*
 * What closing a device does to an object that is left: engine's object and
 * memory go, nobody is waited for. Its handle is freed already.
 */
void rvc_pd_release(void *pd);
void rvc_mr_release(void *mr);
void rvc_channel_release(void *ch);
void rvc_cq_release(void *cq);
void rvc_qp_release(void *qp);

/* ---- queue pairs -------------------------------------------------------- */

/*
 * The send operations of struct ibv_qp_ex, with room for as many requests and
 * as much data as cap allows. 0 or -errno.
 */
int rvc_batch_create(struct rvc_qp *qp, const struct ibv_qp_cap *cap);
void rvc_batch_destroy(struct rvc_qp *qp);

void rvc_qp_cap_to_engine(struct rosm_qp_cap *out,
			  const struct ibv_qp_cap *cap);
void rvc_qp_cap_from_engine(struct ibv_qp_cap *out,
			    const struct rosm_qp_cap *cap);
void rvc_qp_attr_to_engine(struct rosm_qp_attr *out,
			   const struct ibv_qp_attr *attr);
void rvc_qp_attr_from_engine(struct ibv_qp_attr *out,
			     const struct rosm_qp_attr *attr);

#endif
