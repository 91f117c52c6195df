/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Plain verbs, nothing of rosm: two processes connect a reliable queue pair,
 * the child writes a greeting into the parent's memory by RDMA and tells so by
 * the immediate value. Build: cc verbs_write.c -libverbs
 * Run over rosm: rosm run -- ./a.out rosm0
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(cond) \
	((cond) ? (void)0 : (fprintf(stderr, "line %d: %s\n", __LINE__, #cond), exit(1)))

/* What the other side needs in order to reach our queue pair and memory. */
struct card {
	uint64_t addr;
	uint32_t rkey, qpn, lid;
	union ibv_gid gid;
};

static int side(const char *name, int sock, int is_writer)
{
	static char buf[64];
	struct ibv_device **list = ibv_get_device_list(NULL), **d = list;
	struct ibv_context *ctx;
	struct card me = { 0 }, you;
	struct ibv_port_attr port;
	struct ibv_wc wc;
	int n;

	for (; d && *d && strcmp(ibv_get_device_name(*d), name); d++)
		;
	MUST(d && *d && (ctx = ibv_open_device(*d)));
	ibv_free_device_list(list);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf),
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	MUST(pd && cq && mr && !ibv_query_port(ctx, 1, &port));
	struct ibv_qp *qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { 8, 8, 1, 1, 0 } });
	MUST(qp && !ibv_query_gid(ctx, 1, 0, &me.gid));

	me = (struct card){ (uintptr_t)buf, mr->rkey, qp->qp_num, port.lid, me.gid };
	MUST(write(sock, &me, sizeof(me)) == sizeof(me));
	MUST(read(sock, &you, sizeof(you)) == sizeof(you));

	/* INIT, then a receive for the immediate, then RTR and RTS. */
	MUST(!ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT,
		.port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE },
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	MUST(!ibv_post_recv(qp, &(struct ibv_recv_wr){ .wr_id = 1 }, &(struct ibv_recv_wr *){ 0 }));
	MUST(!ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = you.qpn, .min_rnr_timer = 12,
		.ah_attr = { .dlid = (uint16_t)you.lid, .port_num = 1,
			     .is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET,
			     .grh = { .dgid = you.gid, .hop_limit = 1 } } },
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	MUST(!ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7 },
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));

	if (is_writer) {
		int len = snprintf(buf, sizeof(buf), "hello from %d", (int)getpid()) + 1;
		MUST(!ibv_post_send(qp, &(struct ibv_send_wr){
			.sg_list = &(struct ibv_sge){ (uintptr_t)buf, (uint32_t)len, mr->lkey },
			.num_sge = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = IBV_SEND_SIGNALED, .imm_data = 42,
			.wr.rdma = { you.addr, you.rkey } }, &(struct ibv_send_wr *){ 0 }));
	}
	do n = ibv_poll_cq(cq, 1, &wc); while (!n);
	MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
	if (!is_writer)
		printf("immediate %u, \"%s\"\n", wc.imm_data, buf);
	/* Neither leaves before both are done. */
	MUST(write(sock, "x", 1) == 1 && read(sock, buf, 1) == 1);
	return ibv_destroy_qp(qp) || ibv_dereg_mr(mr) || ibv_destroy_cq(cq) ||
	       ibv_dealloc_pd(pd) || ibv_close_device(ctx);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "rosm0";
	int sv[2], status;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	if (!fork())
		return side(name, sv[1], 1);
	return side(name, sv[0], 0) || wait(&status) < 0 || status;
}
