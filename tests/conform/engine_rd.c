/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Driver of the engine's reliable datagrams. Matching belongs to the libfabric
 * face, so this driver has a model of its own to compare that face with: two
 * lists, receives in the order they were posted and messages in the order
 * they came, searched from the front. It is meant to be seen to be right.
 */
#include <config.h>

#include "tests/conform/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/rosm.h"
#include "tests/lib/assert.h"
#include "util/list.h"

enum { SLOTS = 256 };

struct card {
	uint8_t name[ROSM_NAME_BYTES];
	uint64_t addr;
	uint32_t rkey;
};

/* Completions that wait for the next poll. */
struct done {
	struct ru_list link;
	struct comp comp;
};

/* A posted receive. */
struct want {
	struct ru_list link;
	struct op op;
	uint64_t used;		/* OPF_MULTI */
};

/* A message without a receive. */
struct msg {
	struct ru_list link;
	struct rosm_rd_event ev;	/* payload: a copy */
	uint64_t claimed_by;		/* id */
};

/* A transfer under way: what its completion will say. */
struct pending {
	struct comp comp;
	bool quiet;
	void *copy;		/* of data that the caller may overwrite */
};

struct rd {
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
	struct rosm_mr *mr;
	struct rosm_rd *rd;
	struct rosm_rd_peer *peer[ROLES_MAX];
	struct card card[ROLES_MAX];
	struct ru_list wants;
	struct ru_list msgs;
	struct ru_list claimed;
	struct ru_list done;
};

static enum status status_of(int err)
{
	switch (err) {
	case 0:
		return ST_OK;
	case -EACCES:
		return ST_REMOTE_ACCESS;
	case -ECONNABORTED:
	case -EHOSTUNREACH:
		return ST_DEAD;
	default:
		return ST_OTHER;
	}
}

static void finish(struct rd *rd, const struct comp *c)
{
	struct done *d = malloc(sizeof(*d));

	CHECK(d != NULL);
	d->comp = *c;
	ru_list_add_tail(&rd->done, &d->link);
}

static void *copy_of(const void *data, size_t len)
{
	void *copy = malloc(len + 1);

	CHECK(copy != NULL);
	memcpy(copy, data, len);
	return copy;
}

/* ---- object --------------------------------------------------------- */

static void rd_open(struct end *e)
{
	struct rosm_rd_init init = { .slots = SLOTS };
	struct rd *rd = calloc(1, sizeof(*rd));
	int i;

	CHECK(rd != NULL);
	e->face = rd;
	ru_list_init(&rd->wants);
	ru_list_init(&rd->msgs);
	ru_list_init(&rd->claimed);
	ru_list_init(&rd->done);
	CHECK_OK(rosm_ctx_open(&rd->ctx));
	CHECK_OK(rosm_pd_alloc(rd->ctx, &rd->pd));
	CHECK_OK(rosm_mr_reg(rd->pd, e->buf, BUF_BYTES, (uintptr_t)e->buf,
			     ROSM_ACCESS_LOCAL_WRITE |
			     ROSM_ACCESS_REMOTE_WRITE | ROSM_ACCESS_REMOTE_READ,
			     &rd->mr));
	CHECK_OK(rosm_rd_create(rd->pd, &init, &rd->rd));
	rosm_rd_name(rd->rd, rd->card[e->role].name);
	rd->card[e->role].addr = (uintptr_t)e->buf;
	rd->card[e->role].rkey = rosm_mr_rkey(rd->mr);
	end_exchange(e, rd->card, sizeof(rd->card[0]));
	for (i = 0; i < e->roles; i++) {
		CHECK_OK(rosm_rd_peer_get(rd->rd, rd->card[i].name,
					  &rd->peer[i]));
		rosm_rd_peer_set_cookie(rd->peer[i], (uint64_t)i);
	}
}

/* ---- from a message to its receive ---------------------------------- */

static int source(const struct rosm_rd_event *ev)
{
	return (int)rosm_rd_peer_cookie(ev->peer);
}

static bool matches(const struct op *op, const struct rosm_rd_event *ev)
{
	bool tagged = !(ev->flags & ROSM_RD_MSG);

	if (tagged != !!(op->flags & OPF_TAG))
		return false;
	if (op->peer != NO_ROLE && op->peer != source(ev))
		return false;
	return !tagged || !((op->tag ^ ev->tag) & ~op->ignore);
}

/* What a completion says of a message. */
static void describe(struct comp *c, const struct rosm_rd_event *ev)
{
	c->queue = Q_RECV;
	c->len = ev->len;
	c->from = source(ev);
	c->has_tag = !(ev->flags & ROSM_RD_MSG);
	c->tag = ev->tag;
	c->has_imm = ev->flags & ROSM_RD_DATA;
	c->imm = ev->data;
}

/* The room that a receive has for a message of len bytes. */
static unsigned int room_of(const struct end *e, struct want *w, uint64_t len,
			    struct comp *c, struct iovec iov[SGE_MAX])
{
	struct op op = w->op;
	uint64_t room = op.len;

	if (op.flags & OPF_MULTI) {
		c->at = w->used;
		op.off += w->used;
		room = op.len -= w->used;
		w->used += len < room ? len : room;
		c->released = w->used == w->op.len ||
			      w->op.len - w->used < w->op.min;
	}
	if (len > room) {
		c->status = ST_TRUNCATED;
		c->len = room;
		c->over = len - room;
	}
	return op_pieces(e, &op, iov);
}

static void scatter(const struct iovec *iov, unsigned int n, const char *data,
		    uint64_t len)
{
	unsigned int i;
	size_t k;

	for (i = 0; i < n && len; i++) {
		k = len < iov[i].iov_len ? len : iov[i].iov_len;
		memcpy(iov[i].iov_base, data, k);
		data += k;
		len -= k;
	}
}

static struct pending *pend(const struct comp *c, bool quiet)
{
	struct pending *p = calloc(1, sizeof(*p));

	CHECK(p != NULL);
	p->comp = *c;
	p->quiet = quiet;
	return p;
}

static void deliver(struct end *e, struct want *w,
		    const struct rosm_rd_event *ev)
{
	struct rd *rd = e->face;
	struct iovec iov[SGE_MAX];
	struct comp c = { .id = w->op.id };
	struct pending *p;
	unsigned int n;
	int rc = 0;

	describe(&c, ev);
	n = room_of(e, w, ev->len, &c, iov);
	if (ev->payload || !ev->len || !c.len) {
		if (ev->payload)
			scatter(iov, n, ev->payload, c.len);
		if (ev->token.xfer)
			rosm_rd_answer(rd->rd, ev->peer, &ev->token, 0);
	} else {
		p = pend(&c, false);
		rc = rosm_rd_pull(rd->rd, ev->peer, &ev->token, ev->len, iov, n,
				  p);
		if (rc == ROSM_RD_PENDING)
			return;
		free(p);
	}
	if (rc)
		c.status = status_of(rc);
	finish(rd, &c);
}

static void arrived(struct end *e, struct rosm_rd_event *ev)
{
	struct rd *rd = e->face;
	struct ru_list *l;
	struct msg *m;

	ru_list_for_each(l, &rd->wants) {
		struct want *w = ru_list_entry(l, struct want, link);

		if (!matches(&w->op, ev))
			continue;
		deliver(e, w, ev);
		if (!(w->op.flags & OPF_MULTI) || w->used == w->op.len ||
		    w->op.len - w->used < w->op.min) {
			ru_list_del(l);
			free(w);
		}
		goto release;
	}
	m = calloc(1, sizeof(*m));
	CHECK(m != NULL);
	m->ev = *ev;
	if (ev->payload)
		m->ev.payload = copy_of(ev->payload, ev->len);
	ru_list_add_tail(&rd->msgs, &m->link);
release:
	if (ev->payload)
		rosm_rd_release(rd->rd, ev);
}

/* ---- progress ------------------------------------------------------- */

static void over(struct rd *rd, void *context, int status)
{
	struct pending *p = context;

	if (status)
		p->comp.status = status_of(status);
	if (status || !p->quiet)
		finish(rd, &p->comp);
	free(p->copy);
	free(p);
}

static void progress(struct end *e)
{
	struct rd *rd = e->face;
	struct rosm_rd_event ev;
	struct comp c;

	while (rosm_rd_poll(rd->rd, &ev)) {
		switch (ev.type) {
		case ROSM_RD_EV_MSG:
			arrived(e, &ev);
			break;
		case ROSM_RD_EV_SENT:
		case ROSM_RD_EV_PULLED:
		case ROSM_RD_EV_RMA_DONE:
			over(rd, ev.context, ev.status);
			break;
		case ROSM_RD_EV_RMA_DATA:
			memset(&c, 0, sizeof(c));
			c.queue = Q_RECV;
			c.write = true;
			c.len = ev.len;
			c.from = source(&ev);
			c.has_imm = true;
			c.imm = ev.data;
			finish(rd, &c);
			break;
		case ROSM_RD_EV_PEER_DEAD:
			break;
		}
	}
}

static int rd_poll(struct end *e, struct comp *c)
{
	struct rd *rd = e->face;
	struct ru_list *l;

	progress(e);
	l = ru_list_pop_head(&rd->done);
	if (!l)
		return 0;
	*c = ru_list_entry(l, struct done, link)->comp;
	free(ru_list_entry(l, struct done, link));
	return 1;
}

/* ---- posts ---------------------------------------------------------- */

static struct msg *find_msg(struct rd *rd, const struct op *op)
{
	struct ru_list *l;

	ru_list_for_each(l, &rd->msgs)
		if (matches(op, &ru_list_entry(l, struct msg, link)->ev))
			return ru_list_entry(l, struct msg, link);
	return NULL;
}

static void msg_free(struct msg *m)
{
	ru_list_del(&m->link);
	free((void *)(uintptr_t)m->ev.payload);
	free(m);
}

static void discard(struct rd *rd, struct msg *m)
{
	if (m->ev.token.xfer)
		rosm_rd_answer(rd->rd, m->ev.peer, &m->ev.token, 0);
	msg_free(m);
}

static void post_peek(struct end *e, const struct op *op)
{
	struct rd *rd = e->face;
	struct comp c = { .queue = Q_RECV, .id = op->id, .from = NO_ROLE };
	struct msg *m;

	progress(e);
	m = find_msg(rd, op);
	if (m)
		describe(&c, &m->ev);
	else
		c.status = ST_NO_MESSAGE;
	finish(rd, &c);
	if (m && op->flags & OPF_DISCARD) {
		discard(rd, m);
	} else if (m && op->flags & OPF_CLAIM) {
		m->claimed_by = op->id;
		ru_list_del(&m->link);
		ru_list_add_tail(&rd->claimed, &m->link);
	}
}

static int post_claim(struct end *e, const struct op *op)
{
	struct rd *rd = e->face;
	struct want w = { .op = *op };
	struct comp c = { .id = op->id };
	struct ru_list *l;

	ru_list_for_each(l, &rd->claimed) {
		struct msg *m = ru_list_entry(l, struct msg, link);

		if (m->claimed_by != op->id)
			continue;
		if (op->flags & OPF_DISCARD) {
			describe(&c, &m->ev);
			finish(rd, &c);
			discard(rd, m);
		} else {
			deliver(e, &w, &m->ev);
			msg_free(m);
		}
		return 0;
	}
	return -EINVAL;
}

static int post_recv(struct end *e, const struct op *op)
{
	struct rd *rd = e->face;
	bool multi = op->flags & OPF_MULTI;
	struct want *w;
	struct msg *m;

	if (op->flags & OPF_READY)
		return 0;	/* a write takes no receive here */
	if (op->flags & OPF_CLAIM)
		return post_claim(e, op);
	w = calloc(1, sizeof(*w));
	CHECK(w != NULL);
	w->op = *op;
	while ((m = find_msg(rd, op))) {
		deliver(e, w, &m->ev);
		msg_free(m);
		if (!multi || w->used == op->len ||
		    op->len - w->used < op->min) {
			free(w);
			return 0;
		}
	}
	ru_list_add_tail(&rd->wants, &w->link);
	return 0;
}

static int post_cancel(struct rd *rd, const struct op *op)
{
	struct comp c = { .queue = Q_RECV, .id = op->id, .from = NO_ROLE,
			  .status = ST_CANCELED };
	struct ru_list *l;

	ru_list_for_each(l, &rd->wants) {
		struct want *w = ru_list_entry(l, struct want, link);

		if (w->op.id != op->id)
			continue;
		ru_list_del(l);
		free(w);
		finish(rd, &c);
		return 0;
	}
	return -ENOENT;
}

static int start_send(struct end *e, const struct op *op, struct pending *p)
{
	struct rd *rd = e->face;
	struct iovec iov[SGE_MAX];
	struct rosm_rd_msg msg = {
		.tag = op->tag,
		.data = op->imm,
		.flags = (op->flags & OPF_TAG ? 0 : ROSM_RD_MSG) |
			 (op->flags & OPF_IMM ? ROSM_RD_DATA : 0) |
			 (op->flags & OPF_ACK ? ROSM_RD_ACK : 0) |
			 (op->flags & OPF_INLINE ? ROSM_RD_WHOLE : 0),
		.iov = iov,
		.iov_count = op_pieces(e, op, iov),
		.context = p,
	};

	return rosm_rd_send(rd->rd, rd->peer[op->peer], &msg);
}

/* The engine reads a write's data until it is done: from a copy here. */
static void gather(struct rosm_rd_rma *rma, struct iovec *iov, uint64_t len,
		   struct pending *p)
{
	char *to = p->copy = malloc(len + 1);
	unsigned int i;

	CHECK(to != NULL);
	for (i = 0; i < rma->iov_count; i++) {
		memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	iov[0].iov_base = p->copy;
	iov[0].iov_len = len;
	rma->iov_count = 1;
}

static int start_rma(struct end *e, const struct op *op, struct pending *p)
{
	struct rd *rd = e->face;
	const struct card *other = &rd->card[op->peer];
	struct iovec iov[SGE_MAX];
	struct rosm_rd_rma rma = {
		.iov = iov,
		.iov_count = op_pieces(e, op, iov),
		.flags = op->flags & OPF_IMM ? ROSM_RD_DATA : 0,
		.data = op->imm,
		.remote_addr = other->addr + op->at,
		.rkey = other->rkey + (op->flags & OPF_BADKEY ? 0x100 : 0),
		.context = p,
	};

	if (op->flags & OPF_INLINE)
		gather(&rma, iov, op->len, p);
	if (op->kind == OP_READ)
		return rosm_rd_read(rd->rd, rd->peer[op->peer], &rma);
	return rosm_rd_write(rd->rd, rd->peer[op->peer], &rma);
}

static int rd_post(struct end *e, const struct op *op)
{
	struct rd *rd = e->face;
	struct comp c = { .queue = Q_SEND, .id = op->id, .from = NO_ROLE };
	struct pending *p;
	int rc;

	switch (op->kind) {
	case OP_RECV:
		return post_recv(e, op);
	case OP_PEEK:
		post_peek(e, op);
		return 0;
	case OP_CANCEL:
		return post_cancel(rd, op);
	default:
		break;
	}
	p = pend(&c, op->flags & OPF_QUIET);
	rc = op->kind == OP_SEND ? start_send(e, op, p) : start_rma(e, op, p);
	if (rc == ROSM_RD_PENDING)
		return 0;
	free(p->copy);
	free(p);
	if (rc == -EAGAIN || rc == -EINVAL || rc == -ENOMEM || rc == -EMSGSIZE)
		return rc;
	c.status = status_of(rc);
	if (rc || !(op->flags & OPF_QUIET))
		finish(rd, &c);
	return 0;
}

/* --------------------------------------------------------------------- */

static void rd_close(struct end *e)
{
	struct rd *rd = e->face;
	struct ru_list *l;
	int i;

	while ((l = ru_list_pop_head(&rd->wants)))
		free(ru_list_entry(l, struct want, link));
	while ((l = ru_list_first(&rd->msgs)) ||
	       (l = ru_list_first(&rd->claimed)))
		discard(rd, ru_list_entry(l, struct msg, link));
	for (i = 0; i < e->roles; i++)
		rosm_rd_peer_put(rd->rd, rd->peer[i]);
	CHECK_OK(rosm_rd_destroy(rd->rd));
	CHECK_OK(rosm_mr_dereg(rd->mr));
	CHECK_OK(rosm_pd_free(rd->pd));
	CHECK_OK(rosm_ctx_close(rd->ctx));
	free(rd);
}

const struct face face_engine_rd = {
	.name = "engine-rd",
	.family = "engine-rd",
	.open = rd_open,
	.post = rd_post,
	.poll = rd_poll,
	.close = rd_close,
	.refusal = engine_refusal,
};
