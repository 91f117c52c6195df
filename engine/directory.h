/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of a user's instances on this node: find, claim, look up.
 * Layout in engine/wire/directory.h; nothing here trusts what others wrote.
 */
#ifndef ROSM_DIRECTORY_H
#define ROSM_DIRECTORY_H

#include <stdatomic.h>
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
	void *map;		/* ROSM_DIR_SIZE bytes */
	uint64_t dev;		/* of the file */
	uint64_t ino;
	struct rosm_dir *older;	/* cleaned away; somebody may read it still */
	_Atomic uint32_t qpn_hint;	/* lowest index that may be free */
};

enum rosm_dir_table { ROSM_DIR_T_QPN, ROSM_DIR_T_NAME };

/*
 * The directory of this process, opened and created on first use.
 * -EACCES: exists but is not ours alone; -EPROTO: another wire version (one
 * line names both); -ENOSPC, -ENOMEM.
 */
int rosm_dir_get(struct rosm_dir **dir_out);

/* As rosm_dir_get(), but -ENOENT when there is none (rosm stat, clean). */
int rosm_dir_look(struct rosm_dir **dir_out);

/*
 * Claim a free or dead slot: its lock byte, a new generation; its state is 0
 * and nothing but gen is set. -ENOSPC; -EAGAIN: the directory was cleaned
 * away meanwhile, get it again; -EBADF: the program closed its descriptor
 * while another instance of this process is in it.
 */
int rosm_dir_claim(struct rosm_dir *dir, uint32_t *slot_out, uint32_t *gen_out);
/*
 * End the instance: state 2, lock byte let go. Afterwards others take it for
 * dead, so nothing of theirs may still be mapped here.
 */
void rosm_dir_release(struct rosm_dir *dir, uint32_t slot, uint32_t gen);

/*
 * Whether that instance still lives: false is a proof, by generation, state
 * or lock byte. One system call at most, two where it is false.
 */
bool rosm_dir_alive(struct rosm_dir *dir, uint64_t who);

/*
 * False: the program has closed our descriptor (its number may be another
 * file's by now). The lock bytes went with it: others take us for dead, and
 * we can prove nobody's death any more. One system call.
 */
bool rosm_dir_is_ours(const struct rosm_dir *dir);

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
