/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A script of posts and polls for two or three roles, read from a text file
 * (the language: docs/conformance.md). One line is one step; a step belongs
 * to a role or to all. A script is data: it is read once and not changed.
 */
#ifndef TESTS_CONFORM_SCRIPT_H
#define TESTS_CONFORM_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

enum {
	ROLES_MAX = 3,
	STEPS_MAX = 256,
	SGE_MAX = 4,
	SGE_GAP = 64,		/* bytes between the pieces of an operation */
	BUF_BYTES = 4 << 20,	/* of each role, registered */
	ID_MAX = 256,
	ALL_ROLES = -1,
	NO_ROLE = -1,
};

enum op_kind { OP_RECV, OP_SEND, OP_WRITE, OP_READ, OP_PEEK, OP_CANCEL };

enum op_flag {
	OPF_IMM = 1 << 0,	/* imm is meant */
	OPF_INLINE = 1 << 1,	/* the buffer is free after the post */
	OPF_QUIET = 1 << 2,	/* no completion of a success */
	OPF_ACK = 1 << 3,	/* complete when the other side took it */
	OPF_TAG = 1 << 4,	/* tagged */
	OPF_BADKEY = 1 << 5,	/* a key that names nothing */
	OPF_CLAIM = 1 << 6,
	OPF_DISCARD = 1 << 7,
	OPF_MULTI = 1 << 8,	/* one buffer for many messages */
	OPF_READY = 1 << 9,	/* RECV for a write with immediate data */
};

/* Of one post; pieces of len / sge bytes lie SGE_GAP apart from off on. */
struct op {
	enum op_kind kind;
	unsigned int flags;
	uint64_t id;
	uint64_t off;
	uint64_t len;
	unsigned int sge;
	uint64_t at;		/* offset in the other's buffer */
	uint64_t imm;
	uint64_t tag;
	uint64_t ignore;	/* tag bits */
	uint64_t min;		/* OPF_MULTI: smallest room that is kept */
	uint64_t seed;
	int peer;		/* role, NO_ROLE: anybody */
};

enum queue { Q_SEND, Q_RECV, QUEUES };

enum status {
	ST_OK, ST_LENGTH, ST_PROTECTION, ST_FLUSHED, ST_REMOTE_INVALID,
	ST_REMOTE_ACCESS, ST_REMOTE_OPERATION, ST_DEAD, ST_NOT_READY,
	ST_TRUNCATED, ST_CANCELED, ST_NO_MESSAGE, ST_OTHER, STATUSES
};

const char *status_name(enum status st);
const char *queue_name(enum queue q);

/* A completion in the words that all faces share. */
struct comp {
	enum queue queue;
	bool write;		/* a peer wrote with immediate data; no id */
	uint64_t id;
	enum status status;
	uint64_t len;		/* of what arrived */
	uint64_t over;		/* ST_TRUNCATED: what did not fit */
	uint64_t at;		/* OPF_MULTI: place in the buffer */
	bool has_imm;
	uint64_t imm;
	bool has_tag;
	uint64_t tag;
	int from;		/* role, NO_ROLE: not told */
	bool released;		/* OPF_MULTI: the buffer is the program's */
};

enum verb {
	V_FILL, V_SHOW, V_AWAIT, V_POST, V_AGAIN, V_REFUSE, V_TAKE, V_NONE, V_SYNC, V_MEET,
	V_DIE, V_GONE
};

struct step {
	unsigned int line;
	int role;		/* ALL_ROLES: sync, meet */
	enum verb verb;
	struct op op;		/* V_POST, V_AGAIN, V_REFUSE; off, len, seed of others */
	enum queue queue;	/* V_TAKE, V_NONE */
	struct comp want;	/* V_TAKE */
	bool anything;		/* V_TAKE: whatever it is */
	bool fails;		/* V_TAKE: any status but ok */
	bool has_seed;
	int gone;		/* V_GONE: who */
	const char *refusals;	/* V_REFUSE: "face=ERRNO face=ERRNO" */
};

struct script {
	char name[64];
	const char *path;
	int roles;
	unsigned int rnr_retry;
	bool needs_cma;
	bool unordered;		/* takes look for their id */
	char on[128];		/* " face face " */
	char without[256];	/* "face what ERRNO;..." */
	struct step step[STEPS_MAX];
	size_t steps;
	char *text;		/* what refusals point into */
};

/* Reads the file; a script with an error ends the program with a message. */
struct script *script_read(const char *path);
void script_free(struct script *s);
/* Whether the head names this face behind `faces`. */
bool script_is_on(const struct script *s, const char *face);
/* The head's `without FACE WHAT ERRNO`; false if there is none. */
bool script_without(const struct script *s, const char *face, char what[32],
		    char err[32]);

#endif
