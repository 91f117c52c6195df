/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrong arguments to the verbs face: each answers with the error of its manual
 * page, and afterwards everything works as before. One table of calls; each
 * runs on the same end in RTS, connected to itself.
 */
#include <config.h>

#include "tests/proc/verbs_end.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/lib/assert.h"

#undef ibv_reg_mr
#undef ibv_query_port

enum { PORT = 1, GARBLE = 0x55aa };

/* The error of a verb that returns it; errno must agree. */
static int told(int err)
{
	if (err && errno != err)
		check_failed(__FILE__, __LINE__, "returned %d, errno is %d",
			     err, errno);
	return err;
}

/* Of one that returns -1, and of one that returns NULL. */
static int minus_one(int rc)
{
	return rc == -1 ? errno : 0;
}

static int null(const void *object)
{
	return object ? 0 : errno;
}

/* ---- queries ---- */

static int port_0(struct end *e)
{
	struct ibv_port_attr attr;

	return told(ibv_query_port(e->ctx, 0, (void *)&attr));
}

static int port_2(struct end *e)
{
	struct verbs_context *vctx = verbs_get_ctx_op(e->ctx, query_port);
	struct ibv_port_attr attr;

	CHECK(vctx != NULL);
	return told(vctx->query_port(e->ctx, 2, &attr, sizeof(attr)));
}

static int gid_of_port_2(struct end *e)
{
	union ibv_gid gid;

	return minus_one(ibv_query_gid(e->ctx, 2, 0, &gid));
}

static int gid_1(struct end *e)
{
	union ibv_gid gid;

	return minus_one(ibv_query_gid(e->ctx, PORT, 1, &gid));
}

static int gid_negative(struct end *e)
{
	union ibv_gid gid;

	return minus_one(ibv_query_gid(e->ctx, PORT, -1, &gid));
}

static int gid_ex_1(struct end *e)
{
	struct ibv_gid_entry entry;

	return told(ibv_query_gid_ex(e->ctx, PORT, 1, &entry, 0));
}

static int gid_ex_flags(struct end *e)
{
	struct ibv_gid_entry entry;

	return told(ibv_query_gid_ex(e->ctx, PORT, 0, &entry, 1));
}

static int gid_table_without_room(struct end *e)
{
	struct ibv_gid_entry entry;

	return (int)-ibv_query_gid_table(e->ctx, &entry, 0, 0);
}

static int pkey_1(struct end *e)
{
	__be16 pkey;

	return minus_one(ibv_query_pkey(e->ctx, PORT, 1, &pkey));
}

static int pkey_index_of_other_key(struct end *e)
{
	return minus_one(ibv_get_pkey_index(e->ctx, PORT, 0x1234));
}

/* ---- protection domains and memory ---- */

static int dealloc_used_pd(struct end *e)
{
	return told(ibv_dealloc_pd(e->pd));
}

static int dealloc_garbled_pd(struct end *e)
{
	int err;

	e->pd->handle ^= GARBLE;
	err = told(ibv_dealloc_pd(e->pd));
	e->pd->handle ^= GARBLE;
	return err;
}

static int dereg_garbled_mr(struct end *e)
{
	int err;

	e->mr->handle ^= GARBLE;
	err = told(ibv_dereg_mr(e->mr));
	e->mr->handle ^= GARBLE;
	return err;
}

static int remote_write_without_local(struct end *e)
{
	return null(ibv_reg_mr(e->pd, e->buf, 64, IBV_ACCESS_REMOTE_WRITE));
}

static int remote_atomic_without_local(struct end *e)
{
	return null(ibv_reg_mr(e->pd, e->buf, 64, IBV_ACCESS_REMOTE_ATOMIC));
}

static int unknown_access(struct end *e)
{
	return null(ibv_reg_mr(e->pd, e->buf, 64, 1 << 15));
}

static int unknown_access_iova2(struct end *e)
{
	return null(ibv_reg_mr_iova2(e->pd, e->buf, 64, 0, 1u << 31));
}

static int on_demand(struct end *e)
{
	return null(ibv_reg_mr(e->pd, e->buf, 64, IBV_ACCESS_ON_DEMAND));
}

static int range_wraps(struct end *e)
{
	return null(ibv_reg_mr(e->pd, e->buf, SIZE_MAX,
			       IBV_ACCESS_LOCAL_WRITE));
}

static int range_not_mapped(struct end *e)
{
	return null(ibv_reg_mr(e->pd, (void *)4096, 4096,
			       IBV_ACCESS_LOCAL_WRITE));
}

/* ---- completion queues ---- */

static int cqe_0(struct end *e)
{
	return null(ibv_create_cq(e->ctx, 0, NULL, NULL, 0));
}

static int cqe_negative(struct end *e)
{
	return null(ibv_create_cq(e->ctx, -1, NULL, NULL, 0));
}

static int cqe_beyond_device(struct end *e)
{
	struct ibv_device_attr attr;

	CHECK_OK(ibv_query_device(e->ctx, &attr));
	return null(ibv_create_cq(e->ctx, attr.max_cqe + 1, NULL, NULL, 0));
}

static int vector_beyond_device(struct end *e)
{
	return null(ibv_create_cq(e->ctx, 1, NULL, NULL,
				  e->ctx->num_comp_vectors));
}

static int vector_negative(struct end *e)
{
	return null(ibv_create_cq(e->ctx, 1, NULL, NULL, -1));
}

static int destroy_used_cq(struct end *e)
{
	return told(ibv_destroy_cq(e->cq));
}

static int destroy_garbled_cq(struct end *e)
{
	int err;

	e->cq->handle ^= GARBLE;
	err = told(ibv_destroy_cq(e->cq));
	e->cq->handle ^= GARBLE;
	return err;
}

static int resize_to_0(struct end *e)
{
	return told(ibv_resize_cq(e->cq, 0));
}

static int resize_beyond_device(struct end *e)
{
	struct ibv_device_attr attr;

	CHECK_OK(ibv_query_device(e->ctx, &attr));
	return told(ibv_resize_cq(e->cq, attr.max_cqe + 1));
}

static int destroy_used_channel(struct end *e)
{
	return told(ibv_destroy_comp_channel(e->channel));
}

/* ---- queue pairs: creation ---- */

static struct ibv_qp_init_attr_ex good_init(struct end *e)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = e->pd,
	};
}

static int no_send_cq(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.send_cq = NULL;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int no_recv_cq(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.recv_cq = NULL;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int no_pd(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.comp_mask &= ~(uint32_t)IBV_QP_INIT_ATTR_PD;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int unknown_type(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.qp_type = 77;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

/* What the engine uses inside is no type of the verbs. */
static int type_64(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.qp_type = 64;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int type_raw(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.qp_type = IBV_QPT_RAW_PACKET;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int type_driver(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.qp_type = IBV_QPT_DRIVER;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int caps_beyond(struct end *e, size_t member)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);
	uint32_t *cap = (uint32_t *)((char *)&attr.cap + member);

	*cap = 1 << 24;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int max_send_wr(struct end *e)
{
	return caps_beyond(e, offsetof(struct ibv_qp_cap, max_send_wr));
}

static int max_recv_wr(struct end *e)
{
	return caps_beyond(e, offsetof(struct ibv_qp_cap, max_recv_wr));
}

static int max_send_sge(struct end *e)
{
	return caps_beyond(e, offsetof(struct ibv_qp_cap, max_send_sge));
}

static int max_recv_sge(struct end *e)
{
	return caps_beyond(e, offsetof(struct ibv_qp_cap, max_recv_sge));
}

static int max_inline_data(struct end *e)
{
	return caps_beyond(e, offsetof(struct ibv_qp_cap, max_inline_data));
}

static int send_ops_unknown(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.send_ops_flags = UINT64_C(1) << 40;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int comp_mask_unknown(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = good_init(e);

	attr.comp_mask |= 1u << 30;
	return null(ibv_create_qp_ex(e->ctx, &attr));
}

static int destroy_garbled_qp(struct end *e)
{
	int err;

	e->qp->handle ^= GARBLE;
	err = told(ibv_destroy_qp(e->qp));
	e->qp->handle ^= GARBLE;
	return err;
}

/* ---- queue pairs: states ---- */

static int modify(struct end *e, struct ibv_qp_attr attr, int mask)
{
	enum ibv_qp_state before = e->qp->state;
	int err = told(ibv_modify_qp(e->qp, &attr, mask));

	CHECK_EQ(e->qp->state, before);
	return err;
}

static int rts_to_rtr(struct end *e)
{
	return modify(e, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR },
		      IBV_QP_STATE);
}

static int rts_to_init(struct end *e)
{
	return modify(e, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT,
					       .port_num = PORT },
		      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		      IBV_QP_ACCESS_FLAGS);
}

static int rts_with_dest(struct end *e)
{
	return modify(e, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
					       .dest_qp_num = 5 },
		      IBV_QP_STATE | IBV_QP_DEST_QPN);
}

static int unknown_state(struct end *e)
{
	return modify(e, (struct ibv_qp_attr){ .qp_state = 99 },
		      IBV_QP_STATE);
}

static int unknown_mask(struct end *e)
{
	return modify(e, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS },
		      IBV_QP_STATE | 1 << 30);
}

/* ---- posting ---- */

static int post(struct end *e, struct ibv_send_wr wr)
{
	struct ibv_sge sge[64] = {
		{ (uintptr_t)e->buf, 8, e->mr->lkey }
	};
	struct ibv_send_wr *bad = NULL;
	int err;

	sge[0].length = wr.send_flags & IBV_SEND_INLINE ? 1 << 20 : 8;
	wr.sg_list = sge;
	wr.num_sge = wr.num_sge ? wr.num_sge : 1;
	wr.send_flags |= IBV_SEND_SIGNALED;
	err = told(ibv_post_send(e->qp, &wr, &bad));
	CHECK(!err == (bad == NULL) && (!bad || bad == &wr));
	return err;
}

static int send_sges(struct end *e)
{
	return post(e, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
					     .num_sge = 64 });
}

static int send_negative_sges(struct end *e)
{
	return post(e, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
					     .num_sge = -1 });
}

static int send_inline(struct end *e)
{
	return post(e, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
					     .send_flags = IBV_SEND_INLINE });
}

static int send_opcode(struct end *e)
{
	return post(e, (struct ibv_send_wr){ .opcode = 200 });
}

static int send_flag(struct end *e)
{
	return post(e, (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
					     .send_flags = 1 << 20 });
}

static int recv_sges(struct end *e)
{
	struct ibv_sge sge[64] = { { (uintptr_t)e->buf, 8, e->mr->lkey } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 64 };
	struct ibv_recv_wr *bad = NULL;
	int err = told(ibv_post_recv(e->qp, &wr, &bad));

	CHECK(bad == &wr);
	return err;
}

/* ---- what the device does not have ---- */

static int alloc_mw(struct end *e)
{
	return null(ibv_alloc_mw(e->pd, IBV_MW_TYPE_1));
}

static int null_mr(struct end *e)
{
	return null(ibv_alloc_null_mr(e->pd));
}

static int parent_domain(struct end *e)
{
	struct ibv_parent_domain_init_attr attr = { .pd = e->pd };

	return null(ibv_alloc_parent_domain(e->ctx, &attr));
}

static int dm(struct end *e)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	return null(ibv_alloc_dm(e->ctx, &attr));
}

static int dmabuf(struct end *e)
{
	return null(ibv_reg_dmabuf_mr(e->pd, 0, 4096, 0, 0, 0));
}

static int ece(struct end *e)
{
	struct ibv_ece ece_attr = { 0 };

	return told(ibv_query_ece(e->qp, &ece_attr));
}

static const struct {
	const char *name;
	int (*call)(struct end *e);
	int err;
} table[] = {
#define BAD(call, err) { #call, call, err }
	BAD(port_0, EINVAL),
	BAD(port_2, EINVAL),
	BAD(gid_of_port_2, EINVAL),
	BAD(gid_1, EINVAL),
	BAD(gid_negative, EINVAL),
	BAD(gid_ex_1, EINVAL),
	BAD(gid_ex_flags, EINVAL),
	BAD(gid_table_without_room, EINVAL),
	BAD(pkey_1, EINVAL),
	BAD(pkey_index_of_other_key, EINVAL),
	BAD(dealloc_used_pd, EBUSY),
	BAD(dealloc_garbled_pd, ENOENT),
	BAD(dereg_garbled_mr, ENOENT),
	BAD(remote_write_without_local, EINVAL),
	BAD(remote_atomic_without_local, EINVAL),
	BAD(unknown_access, EINVAL),
	BAD(unknown_access_iova2, EINVAL),
	BAD(on_demand, EOPNOTSUPP),
	BAD(range_wraps, EINVAL),
	BAD(range_not_mapped, EFAULT),
	BAD(cqe_0, EINVAL),
	BAD(cqe_negative, EINVAL),
	BAD(cqe_beyond_device, EINVAL),
	BAD(vector_beyond_device, EINVAL),
	BAD(vector_negative, EINVAL),
	BAD(destroy_used_cq, EBUSY),
	BAD(destroy_garbled_cq, ENOENT),
	BAD(resize_to_0, EINVAL),
	BAD(resize_beyond_device, EINVAL),
	BAD(destroy_used_channel, EBUSY),
	BAD(no_send_cq, EINVAL),
	BAD(no_recv_cq, EINVAL),
	BAD(no_pd, EINVAL),
	BAD(unknown_type, EINVAL),
	BAD(type_64, EINVAL),
	BAD(type_raw, EOPNOTSUPP),
	BAD(type_driver, EOPNOTSUPP),
	BAD(max_send_wr, EINVAL),
	BAD(max_recv_wr, EINVAL),
	BAD(max_send_sge, EINVAL),
	BAD(max_recv_sge, EINVAL),
	BAD(max_inline_data, EINVAL),
	BAD(send_ops_unknown, EOPNOTSUPP),
	BAD(comp_mask_unknown, EOPNOTSUPP),
	BAD(destroy_garbled_qp, ENOENT),
	BAD(rts_to_rtr, EINVAL),
	BAD(rts_to_init, EINVAL),
	BAD(rts_with_dest, EINVAL),
	BAD(unknown_state, EINVAL),
	BAD(unknown_mask, EINVAL),
	BAD(send_sges, EINVAL),
	BAD(send_negative_sges, EINVAL),
	BAD(send_inline, EINVAL),
	BAD(send_opcode, EINVAL),
	BAD(send_flag, EINVAL),
	BAD(recv_sges, EINVAL),
	BAD(alloc_mw, EOPNOTSUPP),
	BAD(null_mr, EOPNOTSUPP),
	BAD(parent_domain, EOPNOTSUPP),
	BAD(dm, EOPNOTSUPP),
	BAD(dmabuf, EOPNOTSUPP),
	BAD(ece, EOPNOTSUPP),
};

static void connect_to_itself(struct end *e)
{
	struct ibv_port_attr port;

	CHECK_OK(ibv_query_port(e->ctx, PORT, (void *)&port));
	e->peer_addr = (uintptr_t)e->buf;
	e->peer_rkey = e->mr->rkey;
	end_to_init(e);
	end_to_rtr(e, e->qp->qp_num, port.lid);
	end_to_rts(e);
}

/* A message from the QP to itself and back to nothing pending. */
static void check_works(struct end *e)
{
	struct ibv_wc wc;
	int seen = 0;

	CHECK_EQ(ibv_poll_cq(e->cq, 1, &wc), 0);
	end_recv(e, 1, 64, 8);
	memcpy(e->buf, "12345678", 8);
	memset(e->buf + 64, 0, 8);
	end_post(e, 2, IBV_WR_SEND, 0, 8, 0, 0);
	for (int i = 0; i < 2; i++) {
		end_poll(e, &wc);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		seen |= 1 << wc.wr_id;
	}
	CHECK_EQ(seen, 1 << 1 | 1 << 2);
	CHECK_MEM(e->buf + 64, "12345678", 8);
}

static int args_worker(struct mp *mp, int rank, void *arg)
{
	int wrong = 0;
	struct end e;

	(void)mp;
	(void)rank;
	(void)arg;
	end_open(&e, 4096, END_CHANNEL);
	connect_to_itself(&e);
	check_works(&e);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int err = table[i].call(&e);

		if (err != table[i].err) {
			fprintf(stderr, "%s: error %d, wanted %d\n",
				table[i].name, err, table[i].err);
			wrong++;
		}
		check_works(&e);
	}
	CHECK_EQ(wrong, 0);
	end_close(&e);
	return 0;
}

static void wrong_arguments_are_refused_and_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, args_worker, NULL), 0);
}

/* ---- what the states say to posts ---- */

static int states_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;
	struct end e;
	int n = 0;

	(void)mp;
	(void)rank;
	(void)arg;
	end_open(&e, 4096, 0);
	CHECK_EQ(end_try_recv(&e, 1, 0, 8), EINVAL);
	CHECK_EQ(post(&e, (struct ibv_send_wr){ .opcode = IBV_WR_SEND }),
		 EINVAL);
	end_to_init(&e);
	CHECK_EQ(post(&e, (struct ibv_send_wr){ .opcode = IBV_WR_SEND }),
		 EINVAL);
	while (!end_try_recv(&e, 1, 0, 8))
		CHECK_LT(++n, 1 << 20);
	CHECK_EQ(end_try_recv(&e, 1, 0, 8), ENOMEM);
	CHECK_GE(n, END_DEPTH);
	/* RESET drops them without completions. */
	CHECK_OK(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE));
	CHECK_EQ(ibv_poll_cq(e.cq, 1, &wc), 0);
	connect_to_itself(&e);
	check_works(&e);
	/* ERR flushes what waits and what comes. */
	end_recv(&e, 5, 0, 8);
	attr.qp_state = IBV_QPS_ERR;
	CHECK_OK(ibv_modify_qp(e.qp, &attr, IBV_QP_STATE));
	end_recv(&e, 6, 0, 8);
	for (int i = 5; i <= 6; i++) {
		end_poll(&e, &wc);
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(wc.wr_id, i);
	}
	end_close(&e);
	return 0;
}

static void posts_obey_the_state(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, states_worker, NULL), 0);
}

/* ---- what queries tell ---- */

static int query_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_device_attr_ex dex;
	struct ibv_gid_entry entry;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	struct ibv_qp_attr attr;
	union ibv_gid gid;
	struct end e;
	__be16 pkey;

	(void)mp;
	(void)rank;
	(void)arg;
	end_open(&e, 4096, 0);
	CHECK_OK(ibv_query_device(e.ctx, &dev));
	CHECK_STR(dev.fw_ver, PACKAGE_VERSION);
	CHECK_NE(dev.vendor_id, 0x02c9);
	CHECK_NE(dev.node_guid, 0);
	CHECK_EQ(dev.node_guid, ibv_get_device_guid(e.ctx->device));
	CHECK_EQ(dev.phys_port_cnt, 1);
	CHECK_EQ(dev.max_srq, 0);
	CHECK_EQ(dev.max_ah, 0);
	CHECK_EQ(dev.atomic_cap, IBV_ATOMIC_NONE);
	CHECK_OK(ibv_query_device_ex(e.ctx, NULL, &dex));
	CHECK_MEM(&dex.orig_attr, &dev, sizeof(dev));
	CHECK_EQ(dex.phys_port_cnt_ex, 1);
	CHECK_EQ(dex.odp_caps.general_caps, 0);

	/* The old layout is the beginning of the new one, and ends there. */
	memset(&port, 0xee, sizeof(port));
	CHECK_OK(ibv_query_port(e.ctx, PORT, (void *)&port));
	CHECK_EQ(port.state, IBV_PORT_ACTIVE);
	CHECK_EQ(port.active_mtu, IBV_MTU_4096);
	CHECK_EQ(port.link_layer, IBV_LINK_LAYER_INFINIBAND);
	CHECK_NE(port.lid, 0);
	CHECK_EQ(port.max_msg_sz, 1u << 31);
	CHECK_EQ(port.port_cap_flags2, 0xeeee);
	CHECK_OK(___ibv_query_port(e.ctx, PORT, &port));
	CHECK_EQ(port.port_cap_flags2, 0);
	CHECK_OK(e.ctx->ops._compat_query_port(e.ctx, PORT, (void *)&port));
	CHECK_OK(e.ctx->ops._compat_query_device(e.ctx, &dev));

	CHECK_OK(ibv_query_gid(e.ctx, PORT, 0, &gid));
	CHECK_EQ(gid.raw[0], 0xfe);
	CHECK_MEM(&gid.raw[8], &dev.node_guid, 8);
	CHECK_OK(ibv_query_gid_ex(e.ctx, PORT, 0, &entry, 0));
	CHECK_MEM(&entry.gid, &gid, sizeof(gid));
	CHECK_EQ(entry.gid_type, IBV_GID_TYPE_IB);
	CHECK_EQ(ibv_query_gid_table(e.ctx, &entry, 1, 0), 1);
	CHECK_EQ(entry.port_num, PORT);
	CHECK_OK(ibv_query_pkey(e.ctx, PORT, 0, &pkey));
	CHECK_EQ(pkey, 0xffff);
	CHECK_EQ(ibv_get_pkey_index(e.ctx, PORT, pkey), 0);

	connect_to_itself(&e);
	memset(&attr, 0xee, sizeof(attr));
	CHECK_OK(ibv_query_qp(e.qp, &attr, IBV_QP_STATE, &init));
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQ(attr.path_mtu, IBV_MTU_4096);
	CHECK_EQ(attr.dest_qp_num, e.qp->qp_num);
	CHECK_EQ(attr.rq_psn, 17);
	CHECK_EQ(attr.sq_psn, 17);
	CHECK_EQ(attr.max_rd_atomic, 4);
	CHECK_EQ(attr.max_dest_rd_atomic, 4);
	CHECK_EQ(attr.timeout, 14);
	CHECK_EQ(attr.retry_cnt, 7);
	CHECK_EQ(attr.rnr_retry, 7);
	CHECK_EQ(attr.min_rnr_timer, 12);
	CHECK_EQ(attr.port_num, PORT);
	CHECK_EQ(attr.ah_attr.dlid, port.lid);
	CHECK(init.send_cq == e.cq && init.recv_cq == e.cq);
	CHECK_EQ(init.qp_type, IBV_QPT_RC);
	CHECK_GE(init.cap.max_send_wr, END_DEPTH);
	CHECK_GE(init.cap.max_recv_sge, END_SGE);
	CHECK_GE(init.cap.max_inline_data, END_INLINE);
	CHECK_MEM(&attr.cap, &init.cap, sizeof(init.cap));
	end_close(&e);
	return 0;
}

/* As qperf does; a sanitizer would tell. */
static int free_worker(struct mp *mp, int rank, void *arg)
{
	struct ibv_device **list;
	int n = -1;

	(void)mp;
	(void)rank;
	(void)arg;
	list = ibv_get_device_list(&n);
	CHECK(list != NULL);
	CHECK(list[n] == NULL);
	free(list);
	return 0;
}

static void device_list_may_be_given_to_free(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, free_worker, NULL), 0);
}

static void queries_tell_what_is(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, query_worker, NULL), 0);
}

/* ---- closing ---- */

static int close_worker(struct mp *mp, int rank, void *arg)
{
	struct end e, other;

	(void)mp;
	(void)rank;
	(void)arg;
	end_open(&other, 4096, 0);
	for (int i = 0; i < 100; i++) {
		end_open(&e, 4096, i & 1 ? END_CHANNEL | END_WR : 0);
		connect_to_itself(&e);
		end_recv(&e, 1, 0, 8);
		CHECK_OK(ibv_close_device(e.ctx));
		free(e.buf);
	}
	connect_to_itself(&other);
	check_works(&other);
	end_close(&other);
	return 0;
}

static void closing_a_device_takes_what_is_left(void **state)
{
	(void)state;
	assert_int_equal(mp_run(1, close_worker, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_arguments_are_refused_and_change_nothing),
		cmocka_unit_test(posts_obey_the_state),
		cmocka_unit_test(queries_tell_what_is),
		cmocka_unit_test(device_list_may_be_given_to_free),
		cmocka_unit_test(closing_a_device_takes_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
