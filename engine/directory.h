/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a user's instances on this node: find, claim, look up.
 * Layout in engine/wire/directory.h; nothing here trusts what others wrote.
 */
#ifndef ROSM_DIRECTORY_H
#define ROSM_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wire/directory.h"

struct rosm_dir {
	int fd;			/* the process's only one, never closed */
	struct rosm_wire_dir_head *head;
	struct rosm_wire_dir_inst *insts;
	struct rosm_wire_dir_key *qpns;
	struct rosm_wire_dir_key *names;
	struct rosm_wire_dir_totals *totals;
	struct rosm_wire_dir_ended *ended;
	bool private_fd;	/* mapped for looking only (rosm stat) */
};

enum rosm_dir_table { ROSM_DIR_T_QPN, ROSM_DIR_T_NAME };

/*
 * The directory of this process, opened and created on first use.
 * -EACCES: exists but is not ours alone; -EPROTO: another wire version (one
 * line names both); -ENOSPC, -ENOMEM.
 */
int rosm_dir_get(struct rosm_dir **dir_out);

/* Claim a free or dead slot: its lock byte, a new generation. -ENOSPC. */
int rosm_dir_claim(struct rosm_dir *dir, uint32_t *slot_out, uint32_t *gen_out);
void rosm_dir_release(struct rosm_dir *dir, uint32_t slot, uint32_t gen);

/* Whether that instance still lives: proof by generation or lock byte. */
bool rosm_dir_alive(struct rosm_dir *dir, uint64_t who);

/*
 * Keys that an instance owns. insert: -EEXIST (a live instance holds the key),
 * -ENOSPC (no place in its window). lookup: -ENOENT; skips void entries.
 */
int rosm_dir_insert(struct rosm_dir *dir, enum rosm_dir_table table,
		    uint32_t key24, uint64_t who, uint64_t aux);
int rosm_dir_lookup(struct rosm_dir *dir, enum rosm_dir_table table,
		    uint32_t key24, uint64_t *who_out, uint64_t *aux_out);
void rosm_dir_remove(struct rosm_dir *dir, enum rosm_dir_table table,
		     uint32_t key24, uint64_t who);
/* A QPN that nobody on the node uses: inserted with aux. QPNs 0, 1 are not. */
int rosm_dir_new_qpn(struct rosm_dir *dir, uint64_t who, uint64_t aux,
		     uint32_t *qpn_out);

#endif
