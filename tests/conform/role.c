/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of a script, as one role does them. */
#include <config.h>

#include "tests/conform/role.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/assert.h"

/* ---- posts ---------------------------------------------------------- */

static int try_post(struct role *r, const struct op *op)
{
	uint64_t end_us = mp_now_ns() / 1000 + TAKE_US;
	int rc;

	while ((rc = r->face->post(&r->end, op)) == -EAGAIN) {
		if (!pump(r))
			sched_yield();
		if (mp_now_ns() / 1000 > end_us)
			fail(r, "no room to post for 10 s");
	}
	return rc;
}

static enum queue queue_of(const struct op *op)
{
	return op->kind == OP_SEND || op->kind == OP_WRITE ||
	       op->kind == OP_READ ? Q_SEND : Q_RECV;
}

/* Whoever injects may reuse the buffer at once. */
static void spoil(struct role *r, const struct op *op)
{
	struct op scrap = *op;

	scrap.seed = 0xdead;
	fill(r, &scrap);
}

static void do_post(struct role *r)
{
	const struct op *op = &r->step->op;
	int rc;

	if (op->kind != OP_CANCEL)
		r->op[queue_of(op)][op->id] = *op;
	rc = try_post(r, op);
	if (rc)
		fail(r, "the post was refused: %s", strerror(-rc));
	if (op->flags & OPF_INLINE)
		spoil(r, op);
}

/*
 * Post it again and again until it does not succeed: what lies in the memory
 * of a peer that died a moment ago counts as sent. The error is left to take.
 */
static void do_again(struct role *r)
{
	uint64_t end_us = mp_now_ns() / 1000 + TAKE_US;
	enum queue q = queue_of(&r->step->op);
	struct comp c;

	do {
		if (mp_now_ns() / 1000 > end_us)
			fail(r, "it succeeded for 10 s");
		do_post(r);
		take_one(r, q, &c);
		sched_yield();
	} while (c.status == ST_OK);
	r->stash[q][--r->head[q] % STASH] = c;
}

static const struct {
	const char *name;
	int number;
} errnos[] = {
	{ "EINVAL", EINVAL }, { "ENOMEM", ENOMEM }, { "EMSGSIZE", EMSGSIZE },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "ENOSYS", ENOSYS },
	{ "ENODATA", ENODATA }, { "ENOENT", ENOENT },
};

int errno_of(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(errnos) / sizeof(*errnos); i++)
		if (strlen(errnos[i].name) == len &&
		    !strncmp(errnos[i].name, name, len))
			return errnos[i].number;
	fprintf(stderr, "unknown errno \"%.*s\"\n", (int)len, name);
	_exit(2);
}

/* "face=ERRNO": of this face, of its family. */
static int refusal_of(const struct role *r, const char *name)
{
	const char *p = r->step->refusals;
	size_t n = strlen(name);

	for (; *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (!strncmp(p, name, n) && p[n] == '=')
			return errno_of(p + n + 1,
					strcspn(p + n + 1, " "));
	return 0;
}

static void do_refuse(struct role *r)
{
	int want = refusal_of(r, r->face->name), rc;

	if (!want)
		want = refusal_of(r, r->face->family);
	if (!want)
		fail(r, "the script does not say how this face refuses");
	rc = try_post(r, &r->step->op);
	if (rc != -want)
		fail(r, "%s (%d) instead of the refusal %s",
		     rc ? strerror(-rc) : "success", rc, strerror(want));
	say(r, "%c refused %s %llu\n", 'A' + r->end.role,
	    queue_name(queue_of(&r->step->op)),
	    (unsigned long long)r->step->op.id);
}

static void do_none(struct role *r)
{
	uint64_t end_ns = mp_now_ns() + NONE_MS * 1000000ull;

	do {
		pump(r);
		sched_yield();
	} while (mp_now_ns() < end_ns);
	if (!waits(r, r->step->queue)) {
		say(r, "%c none %s\n", 'A' + r->end.role,
		    queue_name(r->step->queue));
		return;
	}
	say_comp(r, &r->stash[r->step->queue][r->head[r->step->queue] % STASH],
		 " (too early)");
	fail(r, "a %s is complete already", queue_name(r->step->queue));
}

/* ---- together ------------------------------------------------------- */

/* Each role polls while it waits for the others. */
static void do_sync(struct role *r, bool polling)
{
	char c = 0;
	ssize_t rc;
	int i;

	for (i = 0; i < r->end.roles; i++)
		if (i != r->end.role && !r->dead[i])
			mp_send(r->end.mp, i, &c, 1);
	for (i = 0; i < r->end.roles; i++) {
		if (i == r->end.role || r->dead[i])
			continue;
		do {
			if (polling)
				pump(r);
			rc = mp_recv_timeout(r->end.mp, i, &c, 1,
					     polling ? 1 : 20000);
		} while (polling && rc == -ETIMEDOUT);
		if (rc != 1)
			fail(r, "role %c does not come to the meeting", 'A' + i);
	}
}

static void do_gone(struct role *r)
{
	ssize_t rc;
	char c;

	rc = mp_recv_timeout(r->end.mp, r->step->gone, &c, 1, 20000);
	if (rc != -EPIPE)
		fail(r, "role %c is not dead", 'A' + r->step->gone);
}

static _Noreturn void do_die(struct role *r)
{
	mp_expect_signal(r->end.mp, r->end.role, SIGKILL);
	raise(SIGKILL);
	fail(r, "alive");
}

static void do_show(struct role *r)
{
	const struct op *op = &r->step->op;

	check_pattern(r, op, 0, op->len, op->seed);
	say(r, "%c memory %llu %llu sum=%08x\n", 'A' + r->end.role,
	    (unsigned long long)op->off, (unsigned long long)op->len,
	    sum(r, op, 0, op->len));
}

/* As programs do: once the last byte is there, all are. */
static void do_await(struct role *r)
{
	uint64_t end_us = mp_now_ns() / 1000 + TAKE_US;
	const struct op *op = &r->step->op;
	const uint8_t *last = r->end.buf + op->off + op->len - 1;

	while (__atomic_load_n(last, __ATOMIC_ACQUIRE) !=
	       pattern(op->len - 1, op->seed)) {
		if (!pump(r))
			sched_yield();
		if (mp_now_ns() / 1000 > end_us)
			fail(r, "the last byte does not come");
	}
	do_show(r);
}

static void do_step(struct role *r)
{
	const struct op *op = &r->step->op;

	switch (r->step->verb) {
	case V_FILL:
		fill(r, op);
		break;
	case V_SHOW:
		do_show(r);
		break;
	case V_AWAIT:
		do_await(r);
		break;
	case V_POST:
		do_post(r);
		break;
	case V_AGAIN:
		do_again(r);
		break;
	case V_REFUSE:
		do_refuse(r);
		break;
	case V_TAKE:
		do_take(r);
		break;
	case V_NONE:
		do_none(r);
		break;
	case V_SYNC:
	case V_MEET:
		do_sync(r, r->step->verb == V_SYNC);
		break;
	case V_DIE:
		do_die(r);
	case V_GONE:
		do_gone(r);
		break;
	}
}

void end_exchange(struct end *e, void *cards, size_t size)
{
	char *card = cards;
	int i;

	for (i = 0; i < e->roles; i++)
		if (i != e->role)
			mp_send(e->mp, i, card + (size_t)e->role * size, size);
	for (i = 0; i < e->roles; i++)
		if (i != e->role)
			CHECK_EQ(mp_recv(e->mp, i, card + (size_t)i * size,
					 size), size);
}

static void finish(struct role *r)
{
	bool left = false;
	int q;

	r->step = NULL;
	do_sync(r, true);
	for (q = 0; q < QUEUES; q++)
		while (waits(r, (enum queue)q)) {
			struct comp c;

			take_one(r, (enum queue)q, &c);
			say_comp(r, &c, " (left over)");
			left = true;
		}
	if (left)
		fail(r, "completions that the script does not take");
	r->face->close(&r->end);
}

void role_play(struct role *r)
{
	const struct script *s = r->script;
	size_t i;

	r->face->open(&r->end);
	do_sync(r, true);
	for (i = 0; i < s->steps; i++) {
		r->step = &s->step[i];
		if (r->step->role == r->end.role || r->step->role == ALL_ROLES)
			do_step(r);
		if (r->step->verb == V_DIE)
			r->dead[r->step->role] = true;
	}
	finish(r);
}
