/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a role sees: memory, completions, and the lines of its trace. Only
 * what all faces define goes into a line: no length of a send, nothing of a
 * completion in error but its status.
 */
#include <config.h>

#include "tests/conform/role.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- words ---------------------------------------------------------- */

void fail(const struct role *r, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%u: %s, role %c: ", r->script->path,
		r->step ? r->step->line : 0, r->face->name, 'A' + r->end.role);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

void say(struct role *r, const char *fmt, ...)
{
	struct trace *t = r->trace;
	va_list ap;

	va_start(ap, fmt);
	t->len += (size_t)vsnprintf(t->text + t->len, TRACE_BYTES - t->len, fmt,
				    ap);
	va_end(ap);
	if (t->len >= TRACE_BYTES)
		fail(r, "the trace is full");
}

/* ---- memory --------------------------------------------------------- */

unsigned int op_pieces(const struct end *e, const struct op *op,
		       struct iovec iov[SGE_MAX])
{
	unsigned int i;

	for (i = 0; i < op->sge; i++) {
		iov[i].iov_len = op->len / op->sge;
		iov[i].iov_base = e->buf + op->off +
				  i * (iov[i].iov_len + SGE_GAP);
	}
	return op->sge;
}

uint8_t pattern(uint64_t i, uint64_t seed)
{
	return (uint8_t)(((uint32_t)i * 2654435761u +
			  (uint32_t)seed * 40503u + 1) >> 11);
}

void fill(struct role *r, const struct op *op)
{
	struct iovec iov[SGE_MAX];
	unsigned int i, n = op_pieces(&r->end, op, iov);
	uint64_t at = 0;
	size_t k;

	for (i = 0; i < n; i++)
		for (k = 0; k < iov[i].iov_len; k++)
			((uint8_t *)iov[i].iov_base)[k] =
				pattern(at++, op->seed);
}

/* FNV-1a over [from, from + len) of the operation's bytes. */
uint32_t sum(const struct role *r, const struct op *op, uint64_t from,
		    uint64_t len)
{
	struct iovec iov[SGE_MAX];
	unsigned int i, n = op_pieces(&r->end, op, iov);
	uint32_t h = 2166136261u;
	uint64_t at = 0;
	size_t k;

	for (i = 0; i < n; i++)
		for (k = 0; k < iov[i].iov_len; k++, at++)
			if (at >= from && at - from < len)
				h = (h ^ ((uint8_t *)iov[i].iov_base)[k]) *
				    16777619u;
	return h;
}

void check_pattern(const struct role *r, const struct op *op,
			  uint64_t from, uint64_t len, uint64_t seed)
{
	struct iovec iov[SGE_MAX];
	unsigned int i, n = op_pieces(&r->end, op, iov);
	uint64_t at = 0;
	size_t k;

	for (i = 0; i < n; i++)
		for (k = 0; k < iov[i].iov_len; k++, at++) {
			uint8_t got = ((uint8_t *)iov[i].iov_base)[k];

			if (at >= from && at - from < len &&
			    got != pattern(at - from, seed))
				fail(r, "byte %llu of %llu is 0x%02x, not 0x%02x of seed %llu",
				     (unsigned long long)(at - from),
				     (unsigned long long)len, got,
				     pattern(at - from, seed),
				     (unsigned long long)seed);
		}
}

/* ---- completions ---------------------------------------------------- */

/* True if something came. */
bool pump(struct role *r)
{
	bool any = false;
	struct comp c;

	for (;;) {
		memset(&c, 0, sizeof(c));
		c.from = NO_ROLE;
		if (!r->face->poll(&r->end, &c))
			return any;
		if (r->tail[c.queue] - r->head[c.queue] == STASH)
			fail(r, "more than %d completions wait", STASH);
		r->stash[c.queue][r->tail[c.queue]++ % STASH] = c;
		any = true;
	}
}

bool waits(const struct role *r, enum queue q)
{
	return r->head[q] != r->tail[q];
}

/* Completions that carry bytes of a posted buffer. */
static const struct op *data_of(const struct role *r, const struct comp *c)
{
	const struct op *op;

	if (c->queue != Q_RECV || c->write || c->id >= ID_MAX ||
	    (c->status != ST_OK && c->status != ST_TRUNCATED))
		return NULL;
	op = &r->op[Q_RECV][c->id];
	if (op->kind != OP_RECV || op->flags & OPF_DISCARD)
		return NULL;
	return op;
}

/* What of the buffer a trace sums up: all of it, also what must stay. */
static uint32_t data_sum(const struct role *r, const struct op *op,
			 const struct comp *c)
{
	if (op->flags & OPF_MULTI)
		return sum(r, op, c->at, c->len);
	return sum(r, op, 0, op->len);
}

static void say_arrival(struct role *r, const struct comp *c)
{
	const struct op *op = data_of(r, c);

	if (c->from != NO_ROLE && c->status == ST_OK)
		say(r, " from=%c", 'A' + c->from);
	say(r, " len=%llu", (unsigned long long)c->len);
	if (c->status == ST_TRUNCATED)
		say(r, " over=%llu", (unsigned long long)c->over);
	if (op && op->flags & OPF_MULTI)
		say(r, " at=%llu", (unsigned long long)c->at);
	if (c->has_tag)
		say(r, " tag=0x%llx", (unsigned long long)c->tag);
	if (c->has_imm)
		say(r, " imm=0x%llx", (unsigned long long)c->imm);
	if (op)
		say(r, " sum=%08x", data_sum(r, op, c));
}

void say_comp(struct role *r, const struct comp *c, const char *note)
{
	say(r, "%c %s ", 'A' + r->end.role, queue_name(c->queue));
	if (c->write)
		say(r, "write ");
	else
		say(r, "%llu ", (unsigned long long)c->id);
	if (r->step && r->step->fails && c->status != ST_OK)
		say(r, "fails");	/* faces may give the reason or not */
	else
		say(r, "%s", status_name(c->status));
	if (c->queue == Q_RECV &&
	    (c->status == ST_OK || c->status == ST_TRUNCATED))
		say_arrival(r, c);
	if (c->released)
		say(r, " released");
	say(r, "%s\n", note);
}

/* Brings the one with this id to the head of its queue. */
static bool bring(struct role *r, enum queue q, uint64_t id)
{
	struct comp *stash = r->stash[q], c;
	unsigned int i, at = r->head[q];

	while (at != r->tail[q] &&
	       (stash[at % STASH].write || stash[at % STASH].id != id))
		at++;
	if (at == r->tail[q])
		return false;
	c = stash[at % STASH];
	for (i = at; i != r->head[q]; i--)
		stash[i % STASH] = stash[(i - 1) % STASH];
	stash[r->head[q] % STASH] = c;
	return true;
}

/* Whether the next to take is there. */
static bool ready(struct role *r, enum queue q)
{
	const struct step *st = r->step;

	if (!r->script->unordered || !st || st->verb != V_TAKE ||
	    st->anything || st->want.write)
		return waits(r, q);
	return bring(r, q, st->want.id);
}

void take_one(struct role *r, enum queue q, struct comp *c)
{
	uint64_t end_us = mp_now_ns() / 1000 + TAKE_US;

	while (!ready(r, q)) {
		if (!pump(r))
			sched_yield();
		if (mp_now_ns() / 1000 > end_us)
			fail(r, "no completion of a %s within 10 s",
			     queue_name(q));
	}
	*c = r->stash[q][r->head[q]++ % STASH];
}

static void check_field(const struct role *r, const char *name, uint64_t got,
			uint64_t want)
{
	if (got != want)
		fail(r, "%s is 0x%llx, not 0x%llx", name,
		     (unsigned long long)got, (unsigned long long)want);
}

static void check_arrival(const struct role *r, const struct comp *c)
{
	const struct comp *w = &r->step->want;
	const struct op *op = data_of(r, c);

	check_field(r, "len", c->len, w->len);
	check_field(r, "over", c->over, w->over);
	check_field(r, "at", c->at, w->at);
	check_field(r, "presence of imm", c->has_imm, w->has_imm);
	if (w->has_imm)
		check_field(r, "imm", c->imm, w->imm);
	check_field(r, "presence of a tag", c->has_tag, w->has_tag);
	if (w->has_tag)
		check_field(r, "tag", c->tag, w->tag);
	if (w->from != NO_ROLE && c->status == ST_OK)
		check_field(r, "from", (uint64_t)c->from, (uint64_t)w->from);
	if (r->step->has_seed) {
		if (!op)
			fail(r, "seed for a completion without data");
		check_pattern(r, op, c->at, c->len, r->step->op.seed);
	} else if (op && c->len && !(op->flags & OPF_MULTI)) {
		fail(r, "the script does not say which data");
	}
}

void do_take(struct role *r)
{
	const struct comp *w = &r->step->want;
	struct comp c;

	take_one(r, r->step->queue, &c);
	say_comp(r, &c, "");
	if (r->step->anything)
		return;
	if (r->step->fails ? c.status == ST_OK : c.status != w->status)
		fail(r, "%s %llu is %s, not %s", queue_name(c.queue),
		     (unsigned long long)c.id, status_name(c.status),
		     r->step->fails ? "an error" : status_name(w->status));
	check_field(r, "a write with immediate data", c.write, w->write);
	if (!w->write)
		check_field(r, "id", c.id, w->id);
	check_field(r, "released", c.released, w->released);
	if (c.queue == Q_RECV &&
	    (c.status == ST_OK || c.status == ST_TRUNCATED))
		check_arrival(r, &c);
}
