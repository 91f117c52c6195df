/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching of messages and receives by source and 64-bit tag, in the order
 * that MPI and libfabric demand: a message takes the oldest posted receive
 * that accepts it, a receive takes the oldest waiting message.
 *
 * Receives differ in what they leave open: any source or one, and a mask of
 * tag bits to ignore. Those that leave the same things open form a class; in
 * a class both sides are found through a hash of what is not left open, and
 * between classes the sequence numbers decide. A program uses few classes at
 * a time, so a match costs the same with one entry and with ten thousand.
 * What does not fit the table of classes waits in a plain list.
 *
 * Pure: no calls out but memory for the hash tables, whose growth may fail
 * without harm. Entries are the caller's. No locking: the caller serialises.
 */
#ifndef RFI_RDM_MATCH_H
#define RFI_RDM_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "util/list.h"

#define RFI_MATCH_CLASSES	6

/* In a receive: any source. Never the source of a message. */
#define RFI_SRC_ANY		UINT64_MAX

/* Place in one hash table; equal keys hang on the oldest of them. */
struct rfi_match_link {
	struct ru_list bucket;	/* linked: this is the oldest of its key */
	struct ru_list same;	/* ring of all of this key, oldest first */
	uint64_t src;
	uint64_t tag;
};

/* A posted receive. */
struct rfi_match_recv {
	struct rfi_match_link link;
	uint64_t src;		/* or RFI_SRC_ANY */
	uint64_t tag;
	uint64_t ignore;	/* tag bits that may differ */
	uint64_t seq;
	uint32_t cls;
};

/* A message that waits for a receive. */
struct rfi_match_msg {
	struct ru_list all;
	uint64_t src;
	uint64_t tag;
	uint64_t seq;
	uint32_t indexed;	/* classes whose link is in use */
	struct rfi_match_link link[RFI_MATCH_CLASSES];
};

struct rfi_match_index {
	struct ru_list *buckets;	/* NULL until the first insertion */
	uint32_t bits;
	uint32_t keys;
};

struct rfi_match_class {
	uint64_t ignore;
	uint64_t used_at;		/* for replacement */
	uint64_t upto;			/* messages below are indexed */
	uint32_t posted;
	bool any_src;
	bool used;
	struct rfi_match_index recvs;
	struct rfi_match_index msgs;
};

struct rfi_match {
	struct rfi_match_class cls[RFI_MATCH_CLASSES];
	/*
	 * The only posted receive, kept out of the tables: most programs have
	 * one or none at a time, and pay for neither hash then.
	 */
	struct rfi_match_recv *lone;
	uint32_t active;		/* classes with posted receives */
	uint32_t recent;		/* class of the last look-up */
	uint64_t recv_seq;
	uint64_t msg_seq;
	uint64_t clock;
	uint64_t recv_count;
	uint64_t msg_count;
	struct ru_list rest;		/* receives without a class */
	struct ru_list msgs;		/* all messages, oldest first */
};

void rfi_match_init(struct rfi_match *m);
/* Frees the tables; entries that are left stay the caller's. */
void rfi_match_fini(struct rfi_match *m);

/* r->src, tag and ignore are set. It becomes the youngest receive. */
void rfi_match_post(struct rfi_match *m, struct rfi_match_recv *r);
void rfi_match_unpost(struct rfi_match *m, struct rfi_match_recv *r);
/* Oldest receive that takes such a message; it stays posted. Or NULL. */
struct rfi_match_recv *rfi_match_find_recv(struct rfi_match *m, uint64_t src,
					   uint64_t tag);

/* g->src and tag are set. It becomes the youngest message. */
void rfi_match_store(struct rfi_match *m, struct rfi_match_msg *g);
void rfi_match_take(struct rfi_match *m, struct rfi_match_msg *g);
/* Oldest message that such a receive takes; it stays. Or NULL. */
struct rfi_match_msg *rfi_match_find_msg(struct rfi_match *m, uint64_t src,
					 uint64_t tag, uint64_t ignore);

/*
 * Each posted receive, in no order, until fn returns true; that one or NULL.
 * fn must not change the matcher. Slow: for cancel and the death of a peer.
 */
struct rfi_match_recv *
rfi_match_each_recv(struct rfi_match *m,
		    bool (*fn)(struct rfi_match_recv *r, void *arg),
		    void *arg);

#endif
