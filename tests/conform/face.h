/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a driver offers the interpreter (run.c): one role's end of a face. A
 * driver turns posts into the face's own calls and its completions into
 * struct comp, and knows nothing of scripts.
 */
#ifndef TESTS_CONFORM_FACE_H
#define TESTS_CONFORM_FACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "tests/conform/script.h"
#include "tests/lib/mp.h"

/* One role in its own process. */
struct end {
	struct mp *mp;
	int role;
	int roles;
	unsigned int rnr_retry;
	uint8_t *buf;		/* BUF_BYTES, zero at first */
	void *face;		/* the driver's */
};

struct face {
	const char *name;	/* of the traces */
	const char *family;	/* as scripts name it */
	/* Make everything and meet the others; errors end the process. */
	void (*open)(struct end *e);
	/* 0, -EAGAIN (poll and try again) or -errno as the face gives it */
	int (*post)(struct end *e, const struct op *op);
	/* 1 and a completion, or 0. */
	int (*poll)(struct end *e, struct comp *c);
	/* All is given back, also with receives posted and roles dead. */
	void (*close)(struct end *e);
	/* Try what this face does not have; the errno it answers, 0 if it did. */
	int (*refusal)(const char *what);
};

/* Of each program: its faces, ended by NULL. */
extern const struct face *const faces[];

/* Before the first role is started; may be empty. */
void face_program_init(void);

/* ---- for drivers ---------------------------------------------------- */

/* Pieces of an operation; their count. */
unsigned int op_pieces(const struct end *e, const struct op *op,
		       struct iovec iov[SGE_MAX]);

/* Swap a card of size bytes with each other role; card[role] is one's own. */
void end_exchange(struct end *e, void *cards, size_t size);

#endif
