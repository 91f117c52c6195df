/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory: one file of fixed size per user, its blocks allocated at
 * creation, that names the instances of a node and what belongs to them.
 *
 * Owner: nobody; every process of the user maps it read-write. Life is not in
 * the bytes but in the lock byte of a slot (POSIX lock at ROSM_DIR_LOCK_BASE +
 * slot): an entry whose instance's generation is over, or whose lock byte is
 * free, is void and may be replaced by whoever meets it. Single words change
 * by CAS. See docs/shm-layout.md.
 */
#ifndef ROSM_WIRE_DIRECTORY_H
#define ROSM_WIRE_DIRECTORY_H

#include "engine/wire/common.h"

/*
 *  offset  field        writer        reader  unit
 *  0       magic        creator       all     ROSM_WIRE_MAGIC_DIR
 *  8       version      creator       all     ROSM_WIRE_VERSION
 *  12      size_bytes   creator       all     bytes of the file
 *  16      node_id      creator       all     128 random bits
 *  32      next_token   any (add)     all     count of QPNs ever tried
 */
struct rosm_wire_dir_head {
	_Atomic uint64_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t size_bytes;
	uint8_t node_id[16];
	_Atomic uint64_t next_token;
	uint8_t reserved[24];
};

static_assert(sizeof(struct rosm_wire_dir_head) == 64, "layout");

/*
 * magic is 0 while the file is being made, and while `rosm clean` finds out
 * whether it may go: who claims a slot takes its lock byte first and reads
 * magic then; 0 means that the file may be gone, start again.
 */

/*
 * One instance. Written by the holder of the slot's lock byte only, but for
 * knock. A claimer stores state 0, then gen (release): from here the former
 * generation is over. It fills the rest and stores state 1 (release) last.
 * Readers load gen, state (both acquire), the rest, and gen again.
 *
 *  line 0: gen, state, process identity
 *  line 1: where its segments are
 *  line 2: knock - another process asks for the descriptors by socket
 */
struct rosm_wire_dir_inst {
	_Atomic uint32_t gen;		/* generation, 1..ROSM_WIRE_GEN_MASK */
	_Atomic uint32_t state;		/* 0 void, 1 live, 2 ended */
	_Atomic uint32_t pid;		/* in the namespace pid_ns */
	_Atomic uint32_t wire_version;
	_Atomic uint64_t pid_ns;	/* inode of /proc/self/ns/pid */
	_Atomic uint64_t start_time;	/* field 22 of /proc/PID/stat, ticks */
	_Atomic uint64_t boot_id;	/* hash of the boot id */
	uint8_t pad0[24];

	_Atomic uint32_t rw_fd;		/* number in the owner, +1 */
	_Atomic uint32_t ro_fd;
	_Atomic uint64_t rw_ino;	/* identity of the memfds */
	_Atomic uint64_t ro_ino;
	_Atomic uint64_t memfd_dev;
	_Atomic uint64_t rw_size;	/* bytes */
	_Atomic uint64_t ro_size;
	_Atomic uint64_t token;		/* names the abstract socket, 0 none */
	uint8_t pad1[8];

	_Atomic uint32_t knock;		/* any process: add 1 */
	uint8_t pad2[124];
};

static_assert(sizeof(struct rosm_wire_dir_inst) == 256, "layout");
static_assert(offsetof(struct rosm_wire_dir_inst, rw_fd) == 64, "line 1");
static_assert(offsetof(struct rosm_wire_dir_inst, knock) == 128, "line 2");

/*
 * A key that an instance owns: word = key << 40 | who, 0 when free; aux = a
 * hint private to the table (QPN: index in the owner's QP table), checked by
 * the reader against the owner's segment. An entry lives within
 * ROSM_DIR_WINDOW places of key & mask. While aux is being written the key is
 * ROSM_DIR_KEY_BUSY (no QPN: it is the multicast one), so word and aux
 * belong together where word is the same before and after aux was read.
 */
#define ROSM_DIR_KEY_BUSY	0xffffffu

struct rosm_wire_dir_key {
	_Atomic uint64_t word;
	_Atomic uint64_t aux;
};

static_assert(sizeof(struct rosm_wire_dir_key) == 16, "layout");

#define ROSM_DIR_WINDOW		8u
#define ROSM_DIR_QPNS		(1u << 18)
#define ROSM_DIR_NAMES		(1u << 14)

/* What a process moved, kept after its end; a ring of the last ones. */
#define ROSM_DIR_ENDED		64u
#define ROSM_DIR_MOVERS		5u
struct rosm_wire_dir_ended {
	_Atomic uint64_t who;		/* 0 while being written */
	_Atomic uint32_t pid;
	uint32_t pad;
	char comm[16];
	_Atomic uint64_t bytes[ROSM_DIR_MOVERS];
	_Atomic uint64_t ops[ROSM_DIR_MOVERS];
	uint8_t pad1[16];
};

static_assert(sizeof(struct rosm_wire_dir_ended) == 128, "layout");

#define ROSM_DIR_INST_OFF	4096u
#define ROSM_DIR_QPN_OFF	(ROSM_DIR_INST_OFF + ROSM_WIRE_INSTANCES * 256u)
#define ROSM_DIR_NAME_OFF	(ROSM_DIR_QPN_OFF + ROSM_DIR_QPNS * 16u)
#define ROSM_DIR_ENDED_OFF	(ROSM_DIR_NAME_OFF + ROSM_DIR_NAMES * 16u)
#define ROSM_DIR_SIZE		(ROSM_DIR_ENDED_OFF + 4096u + \
				 ROSM_DIR_ENDED * 128u)

#define ROSM_DIR_RING_OFF	(ROSM_DIR_ENDED_OFF + 4096u)

/* at ROSM_DIR_ENDED_OFF: count of ended ever, totals; ring at RING_OFF */
struct rosm_wire_dir_totals {
	_Atomic uint64_t ended;		/* processes that ended in order */
	uint64_t pad[7];
	_Atomic uint64_t bytes[8];
	_Atomic uint64_t ops[8];
};

static_assert(sizeof(struct rosm_wire_dir_totals) == 192, "layout");

/* Lock bytes lie past the end of the file: no data is ever there. */
#define ROSM_DIR_LOCK_BASE	(1ull << 40)
#define ROSM_DIR_LOCK_INIT	(ROSM_DIR_LOCK_BASE - 1)	/* creation */

#endif
