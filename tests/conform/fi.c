/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that runs scripts on the libfabric face: one RDM endpoint a
 * role, one CQ for sends and one for receives, both with selective
 * completion. Once with the short calls (fi_send, fi_tinject, ...), once with
 * those that take a message (fi_sendmsg, ...).
 *
 * fi_getinfo is called once before the roles are started: the other providers
 * of an installed libfabric take their time to look for hardware.
 */
#include <config.h>

#include "tests/conform/face.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "tests/lib/assert.h"

enum { NAME_BYTES = 64 };

struct card {
	char name[NAME_BYTES];
	uint64_t addr;
	uint64_t key;
};

struct fi {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *mr;
	struct fid_av *av;
	struct fid_cq *cq[QUEUES];
	struct fid_ep *ep;
	fi_addr_t peer[ROLES_MAX];
	struct card card[ROLES_MAX];
	struct fi_context2 context[QUEUES][ID_MAX];
	uint64_t multi_at[ID_MAX];	/* where such a buffer starts */
	bool messages;			/* fi_sendmsg and the like */
};

static struct fi_info *hints_make(enum fi_ep_type type)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints != NULL);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV |
		      FI_SOURCE | FI_MULTI_RECV;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_ALLOCATED |
				      FI_MR_VIRT_ADDR;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->tx_attr->op_flags = FI_COMPLETION;
	hints->rx_attr->op_flags = FI_COMPLETION;
	hints->fabric_attr->prov_name = strdup("rosm");
	return hints;
}

static int getinfo(enum fi_ep_type type, struct fi_info **info_out)
{
	struct fi_info *hints = hints_make(type);
	int rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, info_out);

	fi_freeinfo(hints);
	return rc;
}

void face_program_init(void)
{
	const char *top = getenv("top_builddir");
	struct fi_info *info;
	char path[4096];

	snprintf(path, sizeof(path), "%s/prov/.libs", top ? top : ".");
	setenv("FI_PROVIDER_PATH", path, 1);
	setenv("FI_PROVIDER", "rosm", 1);
	CHECK_OK(getinfo(FI_EP_RDM, &info));
	CHECK_STR(info->fabric_attr->prov_name, "rosm");
	fi_freeinfo(info);
}

/* ---- object --------------------------------------------------------- */

static void objects_open(struct fi *fi, struct end *e)
{
	struct fi_cq_attr cq_attr = { .size = 1024,
				      .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	static const uint64_t ways[] = { [Q_SEND] = FI_TRANSMIT,
					 [Q_RECV] = FI_RECV };
	int i;

	CHECK_OK(getinfo(FI_EP_RDM, &fi->info));
	CHECK_STR(fi->info->fabric_attr->prov_name, "rosm");
	CHECK(fi->info->next == NULL);
	CHECK_OK(fi_fabric(fi->info->fabric_attr, &fi->fabric, NULL));
	CHECK_OK(fi_domain(fi->fabric, fi->info, &fi->domain, NULL));
	CHECK_OK(fi_av_open(fi->domain, &av_attr, &fi->av, NULL));
	CHECK_OK(fi_endpoint(fi->domain, fi->info, &fi->ep, NULL));
	CHECK_OK(fi_ep_bind(fi->ep, &fi->av->fid, 0));
	for (i = 0; i < QUEUES; i++) {
		CHECK_OK(fi_cq_open(fi->domain, &cq_attr, &fi->cq[i], NULL));
		CHECK_OK(fi_ep_bind(fi->ep, &fi->cq[i]->fid,
				    ways[i] | FI_SELECTIVE_COMPLETION));
	}
	CHECK_OK(fi_enable(fi->ep));
	CHECK_OK(fi_mr_reg(fi->domain, e->buf, BUF_BYTES,
			   FI_SEND | FI_RECV | FI_READ | FI_WRITE |
				   FI_REMOTE_READ | FI_REMOTE_WRITE,
			   0, 0, 0, &fi->mr, NULL));
}

static void fi_face_open(struct end *e, bool messages)
{
	struct fi *fi = calloc(1, sizeof(*fi));
	size_t len = NAME_BYTES;
	struct card *mine;
	int i;

	CHECK(fi != NULL);
	e->face = fi;
	fi->messages = messages;
	objects_open(fi, e);
	mine = &fi->card[e->role];
	CHECK_OK(fi_getname(&fi->ep->fid, mine->name, &len));
	mine->addr = fi->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ?
			     (uintptr_t)e->buf : 0;
	mine->key = fi_mr_key(fi->mr);
	end_exchange(e, fi->card, sizeof(*mine));
	for (i = 0; i < e->roles; i++)
		CHECK_EQ(fi_av_insert(fi->av, fi->card[i].name, 1, &fi->peer[i],
				      0, NULL), 1);
}

static void open_calls(struct end *e)
{
	fi_face_open(e, false);
}

static void open_messages(struct end *e)
{
	fi_face_open(e, true);
}

static void fi_face_close(struct end *e)
{
	struct fi *fi = e->face;
	int i;

	CHECK_OK(fi_close(&fi->ep->fid));
	CHECK_OK(fi_close(&fi->mr->fid));
	for (i = 0; i < QUEUES; i++)
		CHECK_OK(fi_close(&fi->cq[i]->fid));
	CHECK_OK(fi_close(&fi->av->fid));
	CHECK_OK(fi_close(&fi->domain->fid));
	CHECK_OK(fi_close(&fi->fabric->fid));
	fi_freeinfo(fi->info);
	free(fi);
}

/* ---- posts ---------------------------------------------------------- */

/* An operation in libfabric's words. */
struct call {
	struct fi *fi;
	const struct op *op;
	struct iovec iov[SGE_MAX];
	void *desc[SGE_MAX];
	size_t n;
	fi_addr_t peer;
	uint64_t flags;		/* of the calls that take some */
	uint64_t addr;
	uint64_t key;
	void *context;
	bool plain;		/* a short call can say it */
};

static ssize_t send_message(struct call *c)
{
	const struct op *op = c->op;
	struct fi_msg_tagged tagged = {
		.msg_iov = c->iov,
		.desc = c->desc,
		.iov_count = c->n,
		.addr = c->peer,
		.tag = op->tag,
		.context = c->context,
		.data = op->imm,
	};
	struct fi_msg msg = {
		.msg_iov = c->iov,
		.desc = c->desc,
		.iov_count = c->n,
		.addr = c->peer,
		.context = c->context,
		.data = op->imm,
	};

	if (op->flags & OPF_TAG)
		return fi_tsendmsg(c->fi->ep, &tagged, c->flags);
	return fi_sendmsg(c->fi->ep, &msg, c->flags);
}

static ssize_t inject_short(struct call *c)
{
	const struct op *op = c->op;
	struct fid_ep *ep = c->fi->ep;
	void *buf = c->iov[0].iov_base;

	if (op->flags & OPF_TAG && op->flags & OPF_IMM)
		return fi_tinjectdata(ep, buf, op->len, op->imm, c->peer,
				      op->tag);
	if (op->flags & OPF_TAG)
		return fi_tinject(ep, buf, op->len, c->peer, op->tag);
	if (op->flags & OPF_IMM)
		return fi_injectdata(ep, buf, op->len, op->imm, c->peer);
	return fi_inject(ep, buf, op->len, c->peer);
}

static ssize_t send_one(struct call *c)
{
	const struct op *op = c->op;
	struct fid_ep *ep = c->fi->ep;
	void *buf = c->iov[0].iov_base;

	if (op->flags & OPF_TAG && op->flags & OPF_IMM)
		return fi_tsenddata(ep, buf, op->len, c->desc[0], op->imm,
				    c->peer, op->tag, c->context);
	if (op->flags & OPF_TAG)
		return fi_tsend(ep, buf, op->len, c->desc[0], c->peer, op->tag,
				c->context);
	if (op->flags & OPF_IMM)
		return fi_senddata(ep, buf, op->len, c->desc[0], op->imm,
				   c->peer, c->context);
	return fi_send(ep, buf, op->len, c->desc[0], c->peer, c->context);
}

static ssize_t post_send(struct call *c)
{
	const struct op *op = c->op;
	struct fid_ep *ep = c->fi->ep;

	if (op->flags & OPF_INLINE && op->flags & OPF_QUIET && c->plain)
		return c->n == 1 ? inject_short(c) : send_message(c);
	if (op->flags & (OPF_INLINE | OPF_QUIET | OPF_ACK) || !c->plain)
		return send_message(c);
	if (c->n == 1)
		return send_one(c);
	if (op->flags & OPF_IMM)
		return send_message(c);
	if (op->flags & OPF_TAG)
		return fi_tsendv(ep, c->iov, c->desc, c->n, c->peer, op->tag,
				 c->context);
	return fi_sendv(ep, c->iov, c->desc, c->n, c->peer, c->context);
}

static ssize_t rma_message(struct call *c)
{
	struct fi_rma_iov remote = { c->addr, c->op->len, c->key };
	struct fi_msg_rma msg = {
		.msg_iov = c->iov,
		.desc = c->desc,
		.iov_count = c->n,
		.addr = c->peer,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = c->context,
		.data = c->op->imm,
	};

	return c->op->kind == OP_READ ?
		       fi_readmsg(c->fi->ep, &msg, c->flags) :
		       fi_writemsg(c->fi->ep, &msg, c->flags);
}

static ssize_t post_read(struct call *c)
{
	struct fid_ep *ep = c->fi->ep;

	if (c->op->flags & OPF_QUIET || !c->plain)
		return rma_message(c);
	if (c->n == 1)
		return fi_read(ep, c->iov[0].iov_base, c->op->len, c->desc[0],
			       c->peer, c->addr, c->key, c->context);
	return fi_readv(ep, c->iov, c->desc, c->n, c->peer, c->addr, c->key,
			c->context);
}

static ssize_t inject_write(struct call *c)
{
	const struct op *op = c->op;
	void *buf = c->iov[0].iov_base;

	if (op->flags & OPF_IMM)
		return fi_inject_writedata(c->fi->ep, buf, op->len, op->imm,
					   c->peer, c->addr, c->key);
	return fi_inject_write(c->fi->ep, buf, op->len, c->peer, c->addr,
			       c->key);
}

static ssize_t post_write(struct call *c)
{
	const struct op *op = c->op;
	struct fid_ep *ep = c->fi->ep;

	if (op->flags & OPF_INLINE && op->flags & OPF_QUIET && c->plain &&
	    c->n == 1)
		return inject_write(c);
	if (op->flags & (OPF_INLINE | OPF_QUIET | OPF_ACK) || !c->plain)
		return rma_message(c);
	if (c->n == 1 && op->flags & OPF_IMM)
		return fi_writedata(ep, c->iov[0].iov_base, op->len, c->desc[0],
				    op->imm, c->peer, c->addr, c->key,
				    c->context);
	if (c->n == 1)
		return fi_write(ep, c->iov[0].iov_base, op->len, c->desc[0],
				c->peer, c->addr, c->key, c->context);
	if (op->flags & OPF_IMM)
		return rma_message(c);
	return fi_writev(ep, c->iov, c->desc, c->n, c->peer, c->addr, c->key,
			 c->context);
}

static ssize_t recv_message(struct call *c)
{
	const struct op *op = c->op;
	struct fi_msg_tagged tagged = {
		.msg_iov = c->iov,
		.desc = c->desc,
		.iov_count = c->n,
		.addr = c->peer,
		.tag = op->tag,
		.ignore = op->ignore,
		.context = c->context,
	};
	struct fi_msg msg = {
		.msg_iov = c->iov,
		.desc = c->desc,
		.iov_count = c->n,
		.addr = c->peer,
		.context = c->context,
	};
	uint64_t flags = FI_COMPLETION;

	flags |= op->kind == OP_PEEK ? FI_PEEK : 0;
	flags |= op->flags & OPF_CLAIM ? FI_CLAIM : 0;
	flags |= op->flags & OPF_DISCARD ? FI_DISCARD : 0;
	flags |= op->flags & OPF_MULTI ? FI_MULTI_RECV : 0;
	if (op->kind == OP_PEEK || op->flags & OPF_DISCARD) {
		tagged.iov_count = 0;
		tagged.msg_iov = NULL;
	}
	if (op->flags & OPF_TAG)
		return fi_trecvmsg(c->fi->ep, &tagged, flags);
	return fi_recvmsg(c->fi->ep, &msg, flags);
}

static ssize_t post_recv(struct call *c)
{
	const struct op *op = c->op;
	struct fid_ep *ep = c->fi->ep;
	size_t min = op->min;

	if (op->flags & OPF_READY)
		return 0;	/* a write takes no receive here */
	if (op->flags & OPF_MULTI) {
		c->fi->multi_at[op->id] = (uintptr_t)c->iov[0].iov_base;
		CHECK_OK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT,
				   FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
	}
	if (op->flags & (OPF_MULTI | OPF_CLAIM | OPF_DISCARD) || !c->plain)
		return recv_message(c);
	if (op->flags & OPF_TAG && c->n == 1)
		return fi_trecv(ep, c->iov[0].iov_base, op->len, c->desc[0],
				c->peer, op->tag, op->ignore, c->context);
	if (op->flags & OPF_TAG)
		return fi_trecvv(ep, c->iov, c->desc, c->n, c->peer, op->tag,
				 op->ignore, c->context);
	if (c->n == 1)
		return fi_recv(ep, c->iov[0].iov_base, op->len, c->desc[0],
			       c->peer, c->context);
	return fi_recvv(ep, c->iov, c->desc, c->n, c->peer, c->context);
}

static int fi_face_post(struct end *e, const struct op *op)
{
	struct fi *fi = e->face;
	bool recv = op->kind == OP_RECV || op->kind == OP_PEEK ||
		    op->kind == OP_CANCEL;
	struct call c = {
		.fi = fi,
		.op = op,
		.n = op_pieces(e, op, c.iov),
		.peer = op->peer == NO_ROLE ? FI_ADDR_UNSPEC :
					      fi->peer[op->peer],
		.context = &fi->context[recv ? Q_RECV : Q_SEND][op->id],
		.plain = !fi->messages,
	};

	if (op->peer != NO_ROLE) {
		c.addr = fi->card[op->peer].addr + op->at;
		c.key = fi->card[op->peer].key +
			(op->flags & OPF_BADKEY ? 0x100 : 0);
	}
	c.flags = (op->flags & OPF_QUIET ? 0 : FI_COMPLETION) |
		  (op->flags & OPF_INLINE ? FI_INJECT : 0) |
		  (op->flags & OPF_ACK ? FI_DELIVERY_COMPLETE : 0) |
		  (op->flags & OPF_IMM ? FI_REMOTE_CQ_DATA : 0);
	switch (op->kind) {
	case OP_SEND:
		return (int)post_send(&c);
	case OP_WRITE:
		return (int)post_write(&c);
	case OP_READ:
		return (int)post_read(&c);
	case OP_PEEK:
		return (int)recv_message(&c);
	case OP_CANCEL:
		return (int)fi_cancel(&fi->ep->fid, c.context);
	default:
		return (int)post_recv(&c);
	}
}

/* ---- completions ---------------------------------------------------- */

static enum status status_of(int err)
{
	switch (err) {
	case FI_ETRUNC:
		return ST_TRUNCATED;
	case FI_ECANCELED:
		return ST_CANCELED;
	case FI_ENOMSG:
		return ST_NO_MESSAGE;
	case FI_EACCES:
	case FI_ENOKEY:
		return ST_REMOTE_ACCESS;
	case FI_ECONNABORTED:
	case FI_EHOSTUNREACH:
		return ST_DEAD;
	default:
		return ST_OTHER;
	}
}

static void describe(const struct end *e, struct comp *c, uint64_t flags,
		     const void *context, const void *buf, uint64_t data,
		     uint64_t tag, fi_addr_t src)
{
	struct fi *fi = e->face;
	int i;

	c->write = flags & FI_REMOTE_WRITE;
	if (c->write)
		CHECK(context == NULL);
	else
		c->id = (uint64_t)((const struct fi_context2 *)context -
				   fi->context[c->queue]);
	CHECK_LT(c->id, ID_MAX);
	c->has_imm = flags & FI_REMOTE_CQ_DATA;
	c->imm = data;
	c->has_tag = flags & FI_TAGGED;
	c->tag = tag;
	c->released = flags & FI_MULTI_RECV;
	for (i = 0; i < e->roles; i++)
		if (src == fi->peer[i])
			c->from = i;
	if (!c->write && c->queue == Q_RECV && fi->multi_at[c->id])
		c->at = (uintptr_t)buf - fi->multi_at[c->id];
}

static int take_error(struct end *e, struct comp *c)
{
	struct fi *fi = e->face;
	struct fi_cq_err_entry err = { 0 };

	CHECK_EQ(fi_cq_readerr(fi->cq[c->queue], &err, 0), 1);
	CHECK(err.op_context != NULL);
	c->status = status_of(err.err);
	describe(e, c, err.flags, err.op_context, err.buf, err.data, err.tag,
		 FI_ADDR_NOTAVAIL);
	if (c->status == ST_TRUNCATED) {
		c->len = err.len;
		c->over = err.olen;
	}
	return 1;
}

static int fi_face_poll(struct end *e, struct comp *c)
{
	struct fi *fi = e->face;
	struct fi_cq_tagged_entry entry = { 0 };
	fi_addr_t src = FI_ADDR_NOTAVAIL;
	ssize_t n;
	int q;

	for (q = 0; q < QUEUES; q++) {
		c->queue = (enum queue)q;
		n = fi_cq_readfrom(fi->cq[q], &entry, 1, &src);
		if (n == -FI_EAGAIN)
			continue;
		if (n == -FI_EAVAIL)
			return take_error(e, c);
		CHECK_EQ(n, 1);
		describe(e, c, entry.flags, entry.op_context, entry.buf,
			 entry.data, entry.tag, src);
		c->len = q == Q_RECV ? entry.len : 0;
		return 1;
	}
	return 0;
}

/* ---- what libfabric does not have here ------------------------------ */

static int fi_face_refusal(const char *what)
{
	struct fi_info *info = NULL;
	int rc;

	if (strcmp(what, "connection"))
		return 0;
	rc = getinfo(FI_EP_MSG, &info);
	if (!rc)
		fi_freeinfo(info);
	return -rc;
}

static const struct face face_calls = {
	.name = "fi",
	.family = "fi",
	.open = open_calls,
	.post = fi_face_post,
	.poll = fi_face_poll,
	.close = fi_face_close,
	.refusal = fi_face_refusal,
};

static const struct face face_messages = {
	.name = "fi-msg",
	.family = "fi",
	.open = open_messages,
	.post = fi_face_post,
	.poll = fi_face_poll,
	.close = fi_face_close,
	.refusal = fi_face_refusal,
};

const struct face *const faces[] = { &face_calls, &face_messages, NULL };
