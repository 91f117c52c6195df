/* SPDX-License-Identifier: BSD-2-Clause */
/* See script.h. Words of a line are separated by blanks; '#' ends a line. */
#include <config.h>

#include "tests/conform/script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const statuses[] = {
	[ST_OK] = "ok",
	[ST_LENGTH] = "length",
	[ST_PROTECTION] = "protection",
	[ST_FLUSHED] = "flushed",
	[ST_REMOTE_INVALID] = "remote-invalid",
	[ST_REMOTE_ACCESS] = "remote-access",
	[ST_REMOTE_OPERATION] = "remote-operation",
	[ST_DEAD] = "dead",
	[ST_NOT_READY] = "not-ready",
	[ST_TRUNCATED] = "truncated",
	[ST_CANCELED] = "canceled",
	[ST_NO_MESSAGE] = "no-message",
	[ST_OTHER] = "other",
};

_Static_assert(sizeof(statuses) / sizeof(*statuses) == STATUSES, "a name each");

static const char *const queues[] = { [Q_SEND] = "send", [Q_RECV] = "recv" };

const char *status_name(enum status st)
{
	return statuses[st];
}

const char *queue_name(enum queue q)
{
	return queues[q];
}

/* ---- words of a line ------------------------------------------------ */

enum { WORDS_MAX = 24 };

struct line {
	const struct script *script;
	unsigned int number;
	char *word[WORDS_MAX];
	int words;
	int next;
};

static _Noreturn __attribute__((format(printf, 2, 3)))
void bad(const struct line *l, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%u: ", l->script->path, l->number);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

static const char *word(struct line *l, const char *what)
{
	if (l->next == l->words)
		bad(l, "%s is missing", what);
	return l->word[l->next++];
}

static uint64_t number(struct line *l, const char *text)
{
	char *end;
	unsigned long long v = strtoull(text, &end, 0);

	if (*end == 'K' || *end == 'M')
		v <<= *end++ == 'K' ? 10 : 20;
	if (end == text || *end)
		bad(l, "\"%s\" is not a number", text);
	return v;
}

static int role_of(const struct script *s, const char *text)
{
	if (text[0] < 'A' || text[0] >= 'A' + s->roles || text[1])
		return NO_ROLE;
	return text[0] - 'A';
}

static int peer(struct line *l, const char *text)
{
	int r = role_of(l->script, text);

	if (r == NO_ROLE)
		bad(l, "\"%s\" is not a role", text);
	return r;
}

/* ---- options -------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned int flag;
} flag_words[] = {
	{ "inline", OPF_INLINE }, { "quiet", OPF_QUIET }, { "ack", OPF_ACK },
	{ "badkey", OPF_BADKEY }, { "claim", OPF_CLAIM },
	{ "discard", OPF_DISCARD }, { "ready", OPF_READY },
};

static const struct {
	const char *name;
	size_t offset;
	unsigned int flag;
} number_words[] = {
	{ "off", offsetof(struct op, off), 0 },
	{ "len", offsetof(struct op, len), 0 },
	{ "at", offsetof(struct op, at), 0 },
	{ "imm", offsetof(struct op, imm), OPF_IMM },
	{ "tag", offsetof(struct op, tag), OPF_TAG },
	{ "ignore", offsetof(struct op, ignore), OPF_TAG },
	{ "multi", offsetof(struct op, min), OPF_MULTI },
	{ "seed", offsetof(struct op, seed), 0 },
};

/* The value behind "name=", or NULL. */
static const char *value_of(const char *text, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(text, name, n) && text[n] == '=' ? text + n + 1 : NULL;
}

static bool op_number(struct line *l, struct op *op, const char *text)
{
	const char *value;
	uint64_t v;
	size_t i;

	for (i = 0; i < sizeof(number_words) / sizeof(*number_words); i++) {
		value = value_of(text, number_words[i].name);
		if (!value)
			continue;
		v = number(l, value);
		memcpy((char *)op + number_words[i].offset, &v, sizeof(v));
		op->flags |= number_words[i].flag;
		return true;
	}
	return false;
}

static bool op_flag(struct op *op, const char *text)
{
	size_t i;

	for (i = 0; i < sizeof(flag_words) / sizeof(*flag_words); i++)
		if (!strcmp(text, flag_words[i].name)) {
			op->flags |= flag_words[i].flag;
			return true;
		}
	return false;
}

static void op_options(struct line *l, struct op *op)
{
	const char *text, *value;

	op->sge = 1;
	while (l->next < l->words) {
		text = word(l, "option");
		if (op_number(l, op, text) || op_flag(op, text))
			continue;
		if ((value = value_of(text, "sge")))
			op->sge = (unsigned int)number(l, value);
		else if ((value = value_of(text, "to")) ||
			 (value = value_of(text, "from")))
			op->peer = peer(l, value);
		else
			bad(l, "unknown option \"%s\"", text);
	}
	if (op->sge > SGE_MAX || (op->sge && op->len % op->sge))
		bad(l, "len is not a multiple of at most %d pieces", SGE_MAX);
	if (op->off + op->len + SGE_MAX * SGE_GAP > BUF_BYTES &&
	    op->kind != OP_CANCEL)
		bad(l, "past the end of the buffer");
}

/* ---- steps ---------------------------------------------------------- */

static const struct {
	const char *name;
	enum op_kind kind;
} op_words[] = {
	{ "recv", OP_RECV }, { "send", OP_SEND }, { "write", OP_WRITE },
	{ "read", OP_READ }, { "peek", OP_PEEK }, { "cancel", OP_CANCEL },
};

static void post(struct line *l, struct step *st, const char *kind)
{
	size_t i;

	for (i = 0; i < sizeof(op_words) / sizeof(*op_words); i++)
		if (!strcmp(kind, op_words[i].name))
			break;
	if (i == sizeof(op_words) / sizeof(*op_words))
		bad(l, "unknown step \"%s\"", kind);
	st->verb = V_POST;
	st->op.kind = op_words[i].kind;
	st->op.peer = NO_ROLE;
	st->op.id = number(l, word(l, "id"));
	if (st->op.id >= ID_MAX)
		bad(l, "ids end at %d", ID_MAX - 1);
	op_options(l, &st->op);
	if (st->op.peer != NO_ROLE)
		return;
	if (l->script->roles == 2 && !(st->op.flags & OPF_TAG &&
				       st->op.kind == OP_RECV))
		st->op.peer = 1 - st->role;
	else if (st->op.kind == OP_SEND || st->op.kind == OP_WRITE ||
		 st->op.kind == OP_READ)
		bad(l, "to or from is missing");
}

/* refuse KIND ID OPTIONS : face=ERRNO ... */
static void refuse(struct line *l, struct step *st)
{
	int i, all = l->words;

	for (i = l->next; i < all && strcmp(l->word[i], ":"); i++)
		;
	if (i >= all - 1)
		bad(l, "\": face=ERRNO\" is missing");
	l->words = i;
	post(l, st, word(l, "operation"));
	st->verb = V_REFUSE;
	for (l->next = i + 1; l->next < all - 1; l->next++)
		l->word[l->next][strlen(l->word[l->next])] = ' ';
	st->refusals = l->word[i + 1];
	l->next = l->words;
}

static enum queue queue(struct line *l, const char *text)
{
	if (!strcmp(text, queues[Q_SEND]))
		return Q_SEND;
	if (strcmp(text, queues[Q_RECV]))
		bad(l, "\"%s\" is no queue", text);
	return Q_RECV;
}

static void want_options(struct line *l, struct step *st)
{
	struct comp *c = &st->want;
	const char *text, *v;

	while (l->next < l->words) {
		text = word(l, "option");
		if ((v = value_of(text, "len"))) {
			c->len = number(l, v);
		} else if ((v = value_of(text, "over"))) {
			c->over = number(l, v);
		} else if ((v = value_of(text, "at"))) {
			c->at = number(l, v);
		} else if ((v = value_of(text, "imm"))) {
			c->imm = number(l, v);
			c->has_imm = true;
		} else if ((v = value_of(text, "tag"))) {
			c->tag = number(l, v);
			c->has_tag = true;
		} else if ((v = value_of(text, "from"))) {
			c->from = peer(l, v);
		} else if ((v = value_of(text, "seed"))) {
			st->op.seed = number(l, v);
			st->has_seed = true;
		} else if (!strcmp(text, "released")) {
			c->released = true;
		} else {
			bad(l, "unknown option \"%s\"", text);
		}
	}
}

/* take send|recv ID STATUS ..., take recv write STATUS ..., take Q anything */
static void take(struct line *l, struct step *st)
{
	const char *text;
	int i;

	st->verb = V_TAKE;
	st->queue = queue(l, word(l, "queue"));
	st->want.queue = st->queue;
	st->want.from = l->script->roles == 2 ? 1 - st->role : NO_ROLE;
	text = word(l, "id");
	if (!strcmp(text, "anything")) {
		st->anything = true;
		return;
	}
	st->want.write = !strcmp(text, "write");
	if (!st->want.write)
		st->want.id = number(l, text);
	text = word(l, "status");
	st->fails = !strcmp(text, "fails");
	if (st->fails)
		return;
	for (i = 0; i < STATUSES && strcmp(text, statuses[i]); i++)
		;
	if (i == STATUSES)
		bad(l, "unknown status \"%s\"", text);
	st->want.status = (enum status)i;
	want_options(l, st);
}

static void role_step(struct line *l, struct step *st)
{
	const char *verb = word(l, "step");

	if (!strcmp(verb, "fill") || !strcmp(verb, "show") ||
	    !strcmp(verb, "await")) {
		st->verb = verb[0] == 'f' ? V_FILL :
			   verb[0] == 's' ? V_SHOW : V_AWAIT;
		op_options(l, &st->op);
	} else if (!strcmp(verb, "take")) {
		take(l, st);
	} else if (!strcmp(verb, "none")) {
		st->verb = V_NONE;
		st->queue = queue(l, word(l, "queue"));
	} else if (!strcmp(verb, "die")) {
		st->verb = V_DIE;
	} else if (!strcmp(verb, "gone")) {
		st->verb = V_GONE;
		st->gone = peer(l, word(l, "role"));
	} else if (!strcmp(verb, "again")) {
		post(l, st, word(l, "operation"));
		st->verb = V_AGAIN;
	} else if (!strcmp(verb, "refuse")) {
		refuse(l, st);
	} else {
		post(l, st, verb);
	}
}

/* ---- head ----------------------------------------------------------- */

static void without(struct line *l, struct script *s)
{
	const char *face = word(l, "face"), *what = word(l, "what");
	size_t n = strlen(s->without);

	snprintf(s->without + n, sizeof(s->without) - n, "%s %s %s;", face,
		 what, word(l, "errno"));
}

/* True if the line was one of the head. */
static bool head(struct line *l, struct script *s, const char *first)
{
	size_t n;

	if (!strcmp(first, "faces")) {
		strcpy(s->on, " ");
		while (l->next < l->words) {
			n = strlen(s->on);
			snprintf(s->on + n, sizeof(s->on) - n, "%s ",
				 word(l, "face"));
		}
	} else if (!strcmp(first, "without")) {
		without(l, s);
	} else if (!strcmp(first, "roles")) {
		s->roles = (int)number(l, word(l, "count"));
		if (s->roles < 2 || s->roles > ROLES_MAX)
			bad(l, "2 or %d roles", ROLES_MAX);
	} else if (!strcmp(first, "rnr_retry")) {
		s->rnr_retry = (unsigned int)number(l, word(l, "count"));
	} else if (!strcmp(first, "unordered")) {
		s->unordered = true;
	} else if (!strcmp(first, "needs")) {
		if (strcmp(word(l, "what"), "cma"))
			bad(l, "only cma can be needed");
		s->needs_cma = true;
	} else {
		return false;
	}
	return true;
}

static void parse_line(struct script *s, struct line *l)
{
	const char *first = word(l, "step");
	struct step *st;

	if (head(l, s, first))
		goto end;
	if (s->steps == STEPS_MAX)
		bad(l, "more than %d steps", STEPS_MAX);
	st = &s->step[s->steps++];
	st->line = l->number;
	st->role = ALL_ROLES;
	if (!strcmp(first, "sync")) {
		st->verb = V_SYNC;
	} else if (!strcmp(first, "meet")) {
		st->verb = V_MEET;
	} else {
		st->role = role_of(s, first);
		if (st->role == NO_ROLE)
			bad(l, "\"%s\" is neither a role nor a word of the head",
			    first);
		role_step(l, st);
	}
end:
	if (l->next < l->words)
		bad(l, "\"%s\" is too much", l->word[l->next]);
}

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = 0, room = 64 << 10;
	char *text = calloc(1, room);

	if (f && text)
		n = fread(text, 1, room - 1, f);
	if (!f || !text || ferror(f) || n == room - 1) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(2);
	}
	fclose(f);
	return text;
}

struct script *script_read(const char *path)
{
	struct script *s = calloc(1, sizeof(*s));
	const char *base = strrchr(path, '/');
	char *line, *rest, *w, *words;
	unsigned int lines = 0;

	if (!s)
		exit(2);
	s->path = path;
	s->roles = 2;
	s->rnr_retry = 7;
	snprintf(s->name, sizeof(s->name), "%.*s",
		 (int)strcspn(base ? base + 1 : path, "."),
		 base ? base + 1 : path);
	s->text = rest = read_all(path);
	while ((line = strsep(&rest, "\n"))) {
		struct line l = { .script = s, .number = ++lines };

		line[strcspn(line, "#")] = 0;
		for (w = strtok_r(line, " \t", &words);
		     w && l.words < WORDS_MAX;
		     w = strtok_r(NULL, " \t", &words))
			l.word[l.words++] = w;
		if (l.words)
			parse_line(s, &l);
	}
	return s;
}

void script_free(struct script *s)
{
	free(s->text);
	free(s);
}

bool script_is_on(const struct script *s, const char *face)
{
	char name[64];

	snprintf(name, sizeof(name), " %s ", face);
	return strstr(s->on, name) != NULL;
}

bool script_without(const struct script *s, const char *face, char what[32],
		    char err[32])
{
	const char *p = s->without;
	char name[32];

	for (; *p; p = strchr(p, ';') + 1)
		if (sscanf(p, "%31s %31s %31[^;]", name, what, err) == 3 &&
		    !strcmp(name, face))
			return true;
	return false;
}
