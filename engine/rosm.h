/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's only header for the faces: opaque objects, enums, calls.
 *
 * Numbers of statuses, opcodes, types, states, access flags and masks equal
 * those of <infiniband/verbs.h>; verbs-compat/abi_check.c holds them to it.
 * Calls return 0 or -errno (or a count); they never set errno. Objects are
 * made by create/alloc/open and freed by destroy/free/close, which answer
 * -EBUSY while something uses the object. Every call may be used from several
 * threads on different objects, and on the same object unless said otherwise.
 * News goes up only as queue entries that a face polls.
 */
#ifndef ROSM_ROSM_H
#define ROSM_ROSM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct rosm_ctx;
struct rosm_pd;
struct rosm_mr;
struct rosm_channel;
struct rosm_cq;
struct rosm_qp;
struct rosm_rd;
struct rosm_rd_peer;

/* ---- numbers of the field ------------------------------------------- */

enum rosm_wc_status {
	ROSM_WC_SUCCESS = 0,
	ROSM_WC_LOC_LEN_ERR = 1,
	ROSM_WC_LOC_QP_OP_ERR = 2,
	ROSM_WC_LOC_EEC_OP_ERR = 3,
	ROSM_WC_LOC_PROT_ERR = 4,
	ROSM_WC_WR_FLUSH_ERR = 5,
	ROSM_WC_MW_BIND_ERR = 6,
	ROSM_WC_BAD_RESP_ERR = 7,
	ROSM_WC_LOC_ACCESS_ERR = 8,
	ROSM_WC_REM_INV_REQ_ERR = 9,
	ROSM_WC_REM_ACCESS_ERR = 10,
	ROSM_WC_REM_OP_ERR = 11,
	ROSM_WC_RETRY_EXC_ERR = 12,
	ROSM_WC_RNR_RETRY_EXC_ERR = 13,
	ROSM_WC_FATAL_ERR = 19,
	ROSM_WC_GENERAL_ERR = 21,
};

enum rosm_wc_opcode {
	ROSM_WC_SEND = 0,
	ROSM_WC_RDMA_WRITE = 1,
	ROSM_WC_RDMA_READ = 2,
	ROSM_WC_COMP_SWAP = 3,
	ROSM_WC_FETCH_ADD = 4,
	ROSM_WC_RECV = 128,
	ROSM_WC_RECV_RDMA_WITH_IMM = 129,
};

enum rosm_wc_flags {
	ROSM_WC_GRH = 1 << 0,
	ROSM_WC_WITH_IMM = 1 << 1,
};

enum rosm_wr_opcode {
	ROSM_WR_RDMA_WRITE = 0,
	ROSM_WR_RDMA_WRITE_WITH_IMM = 1,
	ROSM_WR_SEND = 2,
	ROSM_WR_SEND_WITH_IMM = 3,
	ROSM_WR_RDMA_READ = 4,
	ROSM_WR_OPCODES
};

enum rosm_send_flag {
	ROSM_SEND_FENCE = 1 << 0,
	ROSM_SEND_SIGNALED = 1 << 1,
	ROSM_SEND_SOLICITED = 1 << 2,
	ROSM_SEND_INLINE = 1 << 3,
};

enum rosm_qp_type {
	ROSM_QPT_RC = 2,
	ROSM_QPT_UC = 3,
	ROSM_QPT_UD = 4,
	ROSM_QPT_XRC_SEND = 9,
	ROSM_QPT_XRC_RECV = 10,
	ROSM_QPT_RD = 64,	/* libfabric's RDM; no verbs number */
};

enum rosm_qp_state {
	ROSM_QPS_RESET = 0,
	ROSM_QPS_INIT = 1,
	ROSM_QPS_RTR = 2,
	ROSM_QPS_RTS = 3,
	ROSM_QPS_SQD = 4,
	ROSM_QPS_SQE = 5,
	ROSM_QPS_ERR = 6,
	ROSM_QPS_STATES
};

enum rosm_access {
	ROSM_ACCESS_LOCAL_WRITE = 1 << 0,
	ROSM_ACCESS_REMOTE_WRITE = 1 << 1,
	ROSM_ACCESS_REMOTE_READ = 1 << 2,
	ROSM_ACCESS_REMOTE_ATOMIC = 1 << 3,
};

enum rosm_qp_attr_mask {
	ROSM_QP_STATE = 1 << 0,
	ROSM_QP_CUR_STATE = 1 << 1,
	ROSM_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	ROSM_QP_ACCESS_FLAGS = 1 << 3,
	ROSM_QP_PKEY_INDEX = 1 << 4,
	ROSM_QP_PORT = 1 << 5,
	ROSM_QP_QKEY = 1 << 6,
	ROSM_QP_AV = 1 << 7,
	ROSM_QP_PATH_MTU = 1 << 8,
	ROSM_QP_TIMEOUT = 1 << 9,
	ROSM_QP_RETRY_CNT = 1 << 10,
	ROSM_QP_RNR_RETRY = 1 << 11,
	ROSM_QP_RQ_PSN = 1 << 12,
	ROSM_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	ROSM_QP_ALT_PATH = 1 << 14,
	ROSM_QP_MIN_RNR_TIMER = 1 << 15,
	ROSM_QP_SQ_PSN = 1 << 16,
	ROSM_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	ROSM_QP_PATH_MIG_STATE = 1 << 18,
	ROSM_QP_CAP = 1 << 19,
	ROSM_QP_DEST_QPN = 1 << 20,
};

enum rosm_event_type {
	ROSM_EVENT_CQ_ERR = 0,
	ROSM_EVENT_QP_FATAL = 1,
	ROSM_EVENT_QP_REQ_ERR = 2,
	ROSM_EVENT_QP_ACCESS_ERR = 3,
	ROSM_EVENT_COMM_EST = 4,
	ROSM_EVENT_SQ_DRAINED = 5,
};

/* ---- device --------------------------------------------------------- */

/* What the device can do; constant for the life of the process. */
struct rosm_device_limits {
	uint64_t max_mr_size;
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_sge;
	uint32_t max_sge_rd;
	uint32_t max_inline;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_mr;
	uint32_t max_pd;
	uint32_t max_rd_atomic;
	uint32_t max_msg_bytes;		/* 2^31, IBTA 9.3.3 */
	uint32_t comp_vectors;
};

struct rosm_port {
	uint16_t lid;
	uint8_t gid[16];		/* network order */
	uint64_t guid;			/* network order, the node's GUID */
	uint32_t mtu_bytes;
};

const struct rosm_device_limits *rosm_device_limits(void);

/* Name of the device as ROSM_DEVICE_NAME says, "rosm0" by default. */
const char *rosm_device_name(void);

/* Version of the library, "0.1.0". */
const char *rosm_version(void);

/*
 * Open the device: the first open of a process makes its instance (directory
 * slot, two segments). -ENOMEM, -EACCES (directory not ours), -ENOSPC (no
 * slot), -EPROTO (directory of another wire version; logged).
 */
int rosm_ctx_open(struct rosm_ctx **ctx_out);
int rosm_ctx_close(struct rosm_ctx *ctx);	/* -EBUSY with children */
int rosm_ctx_query_port(struct rosm_ctx *ctx, struct rosm_port *port_out);

/*
 * Port numbers without an open context: what a closed device can say. The LID
 * and GID are those of the directory (one LID for all instances of a node).
 */
int rosm_device_port(struct rosm_port *port_out);

/*
 * Move things along for everybody: serve peers that wait for this process,
 * watch their lives, retire stalled send queues. Every poll does its share of
 * this; call it where a program waits without polling.
 */
void rosm_ctx_progress(struct rosm_ctx *ctx);

struct rosm_async_event {
	enum rosm_event_type type;
	union {
		struct rosm_cq *cq;
		struct rosm_qp *qp;
	};
	void *cookie;		/* of the object, as given at its creation */
};

/* fd: a pipe, readable while an event waits; O_NONBLOCK is the program's. */
int rosm_ctx_async_fd(struct rosm_ctx *ctx);

/*
 * Next asynchronous event; blocks unless the fd is non-blocking (-EAGAIN).
 * -EINTR on a signal. Events of a destroyed object are gone.
 */
int rosm_ctx_get_async(struct rosm_ctx *ctx, struct rosm_async_event *ev_out);

/* ---- PD, MR --------------------------------------------------------- */

int rosm_pd_alloc(struct rosm_ctx *ctx, struct rosm_pd **pd_out);
int rosm_pd_free(struct rosm_pd *pd);		/* -EBUSY: MRs or QPs */

/*
 * Register [addr, addr + len) bytes; a remote address is relative to iova.
 * -EINVAL: unknown access bit, REMOTE_WRITE or REMOTE_ATOMIC without
 * LOCAL_WRITE, addr + len wraps; -EFAULT: the range is not mapped; -ENOMEM.
 * Nothing is pinned. ibv_reg_mr(3), IBTA 10.6.3.
 */
int rosm_mr_reg(struct rosm_pd *pd, void *addr, uint64_t len, uint64_t iova,
		uint32_t access, struct rosm_mr **mr_out);
/*
 * Invalidate, then wait until no peer touches the range (bounded by the
 * transfer under way, or the peer's death).
 */
int rosm_mr_dereg(struct rosm_mr *mr);
uint32_t rosm_mr_lkey(const struct rosm_mr *mr);
uint32_t rosm_mr_rkey(const struct rosm_mr *mr);

/* ---- completion ----------------------------------------------------- */

/* Layout of struct ibv_wc, so that a face polls into its caller's array. */
struct rosm_wc {
	uint64_t wr_id;
	uint32_t status;	/* enum rosm_wc_status */
	uint32_t opcode;	/* enum rosm_wc_opcode */
	uint32_t vendor_err;
	uint32_t byte_len;
	uint32_t imm;		/* network order, with ROSM_WC_WITH_IMM */
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t wc_flags;
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
};

int rosm_channel_create(struct rosm_ctx *ctx, struct rosm_channel **ch_out);
int rosm_channel_destroy(struct rosm_channel *ch);	/* -EBUSY: CQs */
/* An epoll fd: readable when get_event has something to do. */
int rosm_channel_fd(const struct rosm_channel *ch);
/*
 * Cookie of the next CQ that fired; blocks unless the fd is non-blocking
 * (-EAGAIN). -EINTR on a signal. ibv_get_cq_event(3).
 */
int rosm_channel_get_event(struct rosm_channel *ch, void **cq_cookie_out);

/*
 * cqe: how many completions it must hold, 1..max_cqe; ch may be NULL.
 * -EINVAL, -ENOMEM. *cqe_out is what it holds, at least cqe.
 */
int rosm_cq_create(struct rosm_ctx *ctx, uint32_t cqe, struct rosm_channel *ch,
		   void *cookie, uint32_t *cqe_out, struct rosm_cq **cq_out);
int rosm_cq_destroy(struct rosm_cq *cq);	/* -EBUSY: QPs */
/* -EINVAL when more completions wait than cqe. ibv_resize_cq(3) */
int rosm_cq_resize(struct rosm_cq *cq, uint32_t cqe, uint32_t *cqe_out);
/* Up to n completions; count, or -EIO once the CQ overflowed. */
int rosm_cq_poll(struct rosm_cq *cq, int n, struct rosm_wc *wc);
/*
 * Fire the channel once at the next completion (solicited: the next solicited
 * or failed one). Completions that are there already do not fire.
 */
int rosm_cq_arm(struct rosm_cq *cq, bool solicited);

/* ---- queue pairs ---------------------------------------------------- */

struct rosm_sge {		/* layout of struct ibv_sge */
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

struct rosm_qp_cap {		/* layout of struct ibv_qp_cap */
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data;
};

struct rosm_qp_init {
	enum rosm_qp_type type;
	struct rosm_cq *send_cq;
	struct rosm_cq *recv_cq;
	struct rosm_qp_cap cap;	/* written back: what was granted */
	bool sq_sig_all;
	void *cookie;
};

struct rosm_global_route {
	uint8_t dgid[16];
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
};

struct rosm_ah_attr {
	struct rosm_global_route grh;
	uint16_t dlid;
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t port_num;
};

/* struct ibv_qp_attr, field for field in meaning. */
struct rosm_qp_attr {
	uint32_t qp_state;
	uint32_t cur_qp_state;
	uint32_t path_mtu;		/* enum ibv_mtu: 1 = 256 .. 5 = 4096 */
	uint32_t path_mig_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	uint32_t qp_access_flags;
	struct rosm_qp_cap cap;
	struct rosm_ah_attr ah;
	struct rosm_ah_attr alt_ah;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
};

/*
 * -EINVAL: caps beyond the device, no CQ, CQ or PD of another context;
 * -EOPNOTSUPP: a type that this version does not carry; -ENOMEM.
 */
int rosm_qp_create(struct rosm_pd *pd, struct rosm_qp_init *init,
		   struct rosm_qp **qp_out);
int rosm_qp_destroy(struct rosm_qp *qp);
/*
 * ibv_modify_qp(3), IBTA 11.2.5: all checks come before any change; -EINVAL
 * for a transition or mask that the table does not have, or a value out of
 * range.
 */
int rosm_qp_modify(struct rosm_qp *qp, const struct rosm_qp_attr *attr,
		   uint32_t mask);
/* Everything that was set, the state and the true caps. */
int rosm_qp_query(struct rosm_qp *qp, struct rosm_qp_attr *attr_out,
		  struct rosm_qp_init *init_out);
uint32_t rosm_qp_num(const struct rosm_qp *qp);
enum rosm_qp_state rosm_qp_state(const struct rosm_qp *qp);

struct rosm_send_wr {
	uint64_t wr_id;
	uint32_t opcode;		/* enum rosm_wr_opcode */
	uint32_t flags;			/* enum rosm_send_flag */
	const struct rosm_sge *sg_list;
	uint32_t num_sge;
	uint32_t imm;			/* network order */
	uint64_t remote_addr;
	uint32_t rkey;
};

struct rosm_recv_wr {
	uint64_t wr_id;
	const struct rosm_sge *sg_list;
	uint32_t num_sge;
};

/*
 * Post one WQE; on return it may already be complete. -EINVAL: state below
 * RTS, opcode that the type has not, too many SGEs, too much inline data;
 * -ENOMEM: the queue is full. In ERR it is flushed. Nothing changed on error.
 */
int rosm_qp_post_send(struct rosm_qp *qp, const struct rosm_send_wr *wr);
/* Whether n WQEs could be posted now: all or nothing for ibv_wr_complete. */
int rosm_qp_check_send(struct rosm_qp *qp, const struct rosm_send_wr *wr,
		       unsigned int n);
/* -EINVAL: RESET, too many SGEs; -ENOMEM: full. */
int rosm_qp_post_recv(struct rosm_qp *qp, const struct rosm_recv_wr *wr);

/* ---- RD: reliable datagrams, what libfabric's RDM endpoints stand on ---- */

#define ROSM_NAME_BYTES		64	/* an address: engine/wire/name.h */
#define ROSM_NAME_STR_MAX	192

struct rosm_rd_init {
	uint32_t slots;		/* arrival ring, rounded up to a power of two */
	uint32_t eager_bytes;	/* largest message that travels in one chunk */
	struct rosm_channel *channel;	/* rings when armed; may be NULL */
	void *cookie;
};

/*
 * One endpoint: its arrival ring, its QPN. Not for concurrent use by several
 * threads unless the caller locks (the face owns the threading model).
 */
int rosm_rd_create(struct rosm_pd *pd, struct rosm_rd_init *init,
		   struct rosm_rd **rd_out);
int rosm_rd_destroy(struct rosm_rd *rd);
void rosm_rd_name(const struct rosm_rd *rd, uint8_t name_out[ROSM_NAME_BYTES]);
uint32_t rosm_rd_eager_max(const struct rosm_rd *rd);
uint32_t rosm_rd_inject_max(const struct rosm_rd *rd);	/* = eager_max */
int rosm_rd_arm(struct rosm_rd *rd);	/* channel fires at next arrival */

/* "rosm://NODE/QPN..." and back; -EINVAL for what is not a name. */
int rosm_name_print(const uint8_t name[ROSM_NAME_BYTES], char *buf, size_t len);
int rosm_name_parse(const char *str, uint8_t name_out[ROSM_NAME_BYTES]);
bool rosm_name_valid(const uint8_t *name, size_t len);

/*
 * Bind "node:service" to an endpoint of this node / find it. A name is held
 * until the endpoint goes. -EADDRINUSE; -ENOENT.
 */
int rosm_rd_bind_service(struct rosm_rd *rd, const char *service);
int rosm_name_resolve(struct rosm_ctx *ctx, const char *service,
		      uint8_t name_out[ROSM_NAME_BYTES]);

/*
 * A peer of an endpoint, found by name: no contact before the first message,
 * so it succeeds for a peer that does not exist (then the first operation
 * answers -EHOSTUNREACH, or -ECONNABORTED if it lived and died). A peer whose
 * /proc is shut to this process is asked for its memory and answers in its next
 * call: until then operations answer -EAGAIN. The same name
 * gives the same peer, also the one that events name; put as often as got. The
 * pointer stays good until the endpoint is destroyed.
 */
int rosm_rd_peer_get(struct rosm_rd *rd, const uint8_t name[ROSM_NAME_BYTES],
		     struct rosm_rd_peer **peer_out);
void rosm_rd_peer_put(struct rosm_rd *rd, struct rosm_rd_peer *peer);
/*
 * Make the contact now, so that the peer's death is noticed: for who only
 * waits for its messages. 0, or what the first operation would answer; after
 * -EAGAIN poll goes on trying, and a failure is told as EV_PEER_DEAD.
 */
int rosm_rd_peer_contact(struct rosm_rd *rd, struct rosm_rd_peer *peer);
/* A word of the face's with each peer (its fi_addr_t); initially all ones. */
void rosm_rd_peer_set_cookie(struct rosm_rd_peer *peer, uint64_t cookie);
uint64_t rosm_rd_peer_cookie(const struct rosm_rd_peer *peer);
void rosm_rd_peer_name(const struct rosm_rd_peer *peer,
		       uint8_t name_out[ROSM_NAME_BYTES]);

enum rosm_rd_flag {
	ROSM_RD_DATA = 1 << 0,	/* data is meant */
	ROSM_RD_MSG = 1 << 1,	/* untagged */
	ROSM_RD_ACK = 1 << 2,	/* complete only when the receiver took it
				 * (delivery complete): also for small ones */
	ROSM_RD_WHOLE = 1 << 3,	/* the buffers are free when the call returns;
				 * -EMSGSIZE: too much for this peer's chunks */
};

struct rosm_rd_msg {
	uint64_t tag;
	uint64_t data;
	uint32_t flags;		/* enum rosm_rd_flag */
	uint8_t op;		/* the face's own; carried */
	uint32_t iov_count;	/* at most ROSM_RD_IOV */
	const struct iovec *iov;
	void *context;		/* comes back in the SENT event */
};

#define ROSM_RD_IOV		8
#define ROSM_RD_PENDING		1

/*
 * Send to a peer. 0: done, the payload lies in the receiver's memory, no event
 * follows. ROSM_RD_PENDING: the buffers stay in use until the SENT event with
 * context. -EAGAIN: no room now, nothing happened; poll and try again.
 * -EHOSTUNREACH, -ECONNABORTED: no such peer / it is dead. -EINVAL.
 */
int rosm_rd_send(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		 const struct rosm_rd_msg *msg);

struct rosm_rd_rma {
	const struct iovec *iov;	/* local, at most ROSM_RD_IOV */
	uint32_t iov_count;
	uint32_t flags;			/* ROSM_RD_DATA: announce data at the
					 * target after the bytes (writes) */
	uint64_t remote_addr;
	uint64_t data;
	uint32_t rkey;
	void *context;
};

/*
 * One-sided. 0: done (target memory holds the bytes). Other results as for
 * send, and -EACCES: key, range or rights were refused by the target;
 * -EFAULT: the target unmapped the memory.
 */
int rosm_rd_write(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		  const struct rosm_rd_rma *rma);
int rosm_rd_read(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		 const struct rosm_rd_rma *rma);

enum rosm_rd_event_type {
	ROSM_RD_EV_MSG = 1,	/* a message arrived: accept it or keep it */
	ROSM_RD_EV_SENT,	/* context, status: a pending send is over */
	ROSM_RD_EV_PULLED,	/* context, status: a pending pull is over */
	ROSM_RD_EV_RMA_DONE,	/* context, status: a pending read/write */
	ROSM_RD_EV_RMA_DATA,	/* data, len: a peer wrote with data */
	ROSM_RD_EV_PEER_DEAD,	/* peer: nothing more comes from it */
};

/*
 * payload: len bytes valid until rosm_rd_release, or NULL when the message is
 * large (or empty) and must be pulled; token names it until pulled or dropped.
 */
struct rosm_rd_event {
	enum rosm_rd_event_type type;
	int status;		/* 0 or -errno */
	struct rosm_rd_peer *peer;
	uint64_t tag;
	uint64_t data;
	uint64_t len;
	uint32_t flags;		/* enum rosm_rd_flag */
	uint8_t op;
	const void *payload;
	struct rosm_rd_token {
		uint64_t xfer;
		uint32_t seq;
		uint32_t ack;
	} token;
	void *context;
};

/*
 * Next event; 1 or 0. Order: messages of one peer come in the order of their
 * sends, whatever mover carries the data. An EV_MSG with payload must be
 * released before the next poll.
 */
int rosm_rd_poll(struct rosm_rd *rd, struct rosm_rd_event *ev_out);
void rosm_rd_release(struct rosm_rd *rd, struct rosm_rd_event *ev);

/*
 * Fetch up to what iov holds of a large message (truncation: iov shorter than
 * len), answer the sender. 0: done now. ROSM_RD_PENDING: PULLED event later,
 * iov's memory stays in use. An error is also told to the sender.
 */
int rosm_rd_pull(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		 const struct rosm_rd_token *token, uint64_t len,
		 const struct iovec *iov, uint32_t iov_count, void *context);
/*
 * Answer without fetching (message discarded, or small with ack set):
 * needed for every EV_MSG with token.xfer != 0 that is not pulled.
 */
void rosm_rd_answer(struct rosm_rd *rd, struct rosm_rd_peer *peer,
		    const struct rosm_rd_token *token, int status);
/* Forget a pending pull (fi_cancel after match is not possible): none. */

/* ---- statistics ----------------------------------------------------- */

#define ROSM_STAT_MOVERS	5
extern const char *const rosm_stat_mover_names[ROSM_STAT_MOVERS];

struct rosm_stat_peer {
	uint32_t pid;			/* of the process */
	uint32_t peer_pid;
	uint64_t tx_bytes[ROSM_STAT_MOVERS];
	uint64_t tx_ops[ROSM_STAT_MOVERS];
	uint64_t rx_bytes[ROSM_STAT_MOVERS];
	uint64_t rx_ops[ROSM_STAT_MOVERS];
};

struct rosm_stat_ended {
	uint32_t pid;
	char comm[16];
	uint64_t bytes[ROSM_STAT_MOVERS];	/* sent by the process */
	uint64_t ops[ROSM_STAT_MOVERS];
};

/*
 * Look at every live instance of this user's directory without joining it (no
 * instance is made). each() is called per process and peer. pid 0: all.
 */
int rosm_stat_live(uint32_t pid,
		   void (*each)(void *arg, const struct rosm_stat_peer *sp),
		   void *arg);
/* The last processes that ended in order, newest first; count. */
int rosm_stat_ended(struct rosm_stat_ended *out, unsigned int n);
/* Sums over all processes that ended in order since the directory exists. */
int rosm_stat_totals(struct rosm_stat_ended *sum_out, uint64_t *count_out);
/* Remove the directory file when no live instance uses it: -EBUSY, -ENOENT. */
int rosm_dir_clean(void);
/* Its path, for messages. */
int rosm_dir_path(char *buf, size_t len);

#endif
