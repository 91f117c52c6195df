/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the engine's lower half share: an instance without a
 * context, who exchange, and waiting for a condition.
 */
#ifndef TESTS_PROC_BASE_H
#define TESTS_PROC_BASE_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "engine/inst.h"
#include "engine/peer.h"
#include "tests/lib/assert.h"
#include "tests/lib/mp.h"

static inline struct rosm_inst *base_open(void)
{
	struct rosm_inst *inst = NULL;

	CHECK_OK(rosm_inst_get(&inst));
	return inst;
}

/* Tell the other who we are, learn who it is. */
static inline uint64_t base_swap(struct mp *mp, int other, uint64_t who)
{
	uint64_t got = 0;

	mp_send(mp, other, &who, sizeof(who));
	CHECK_EQ(mp_recv(mp, other, &got, sizeof(got)), sizeof(got));
	return got;
}

static inline void base_nap_ms(long ms)
{
	struct timespec ts = { .tv_nsec = ms * 1000000 };

	nanosleep(&ts, NULL);
}

static inline struct rosm_peer *base_peer(struct rosm_inst *inst, uint64_t who)
{
	struct rosm_peer *p = NULL;
	int rc;

	/* asked by socket, it answers in its next call */
	while ((rc = rosm_peer_get(inst, who, &p)) == -EAGAIN)
		base_nap_ms(1);
	CHECK_OK(rc);
	return p;
}

/* Whether a thread of the peer names this key of who right now. */
static inline bool base_names(const struct rosm_peer *p, uint64_t who,
			      uint32_t key)
{
	const struct rosm_wire_hazard *h =
		(const void *)((const char *)p->ro + ROSM_RO_HAZARD_OFF);
	const uint64_t word = 1ull << 32 | key;
	uint32_t i;

	for (i = 0; i < ROSM_WIRE_HAZARDS; i++)
		if ((h[i].owner == who && h[i].mr == word) ||
		    (h[i].owner2 == who && h[i].mr2 == word))
			return true;
	return false;
}

#endif
