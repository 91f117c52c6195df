/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arrival ring by itself, both ends in one process: laps, a full ring,
 * chunks, slots of slow and of dead producers. Who is dead here never lived.
 */
#include <config.h>

#include "engine/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/proc/base.h"

enum { SLOTS = 64, CHUNKS = 16, CHUNK_BYTES = 256 };

#define DEAD	rosm_wire_who(4000, 7)

static struct rosm_ring ring;
static struct rosm_ring_tx tx;

static void set_up(void)
{
	struct rosm_inst *inst = base_open();

	CHECK_OK(rosm_ring_create(&ring, inst, SLOTS, CHUNKS, CHUNK_BYTES, 0));
	CHECK_OK(rosm_ring_tx_init(&tx, inst->self, ring.off));
}

static void tear_down(void)
{
	struct rosm_inst *inst = ring.inst;

	rosm_ring_destroy(&ring);
	rosm_inst_put(inst);
}

/* A message of qpn that carries n; its position. */
static uint64_t put(uint32_t qpn, uint64_t n)
{
	struct rosm_wire_slot *slot;
	uint64_t pos, who = ring.inst->who;

	slot = rosm_ring_claim(&tx, who, &pos);
	CHECK(slot != NULL);
	slot->qpn = qpn;
	slot->rd.tag = n;
	rosm_ring_publish(&tx, slot, pos, who);
	return pos;
}

/* The next one, which must carry n. */
static void get(uint64_t n)
{
	struct rosm_wire_slot *slot;
	uint64_t pos;

	slot = rosm_ring_peek(&ring, &pos);
	CHECK(slot != NULL);
	CHECK_EQ(slot->rd.tag, n);
	rosm_ring_free(&ring, pos);
}

static int laps(struct mp *mp, int rank, void *arg)
{
	uint64_t pos, n = 0;
	uint8_t *chunk;
	int i, lap;

	(void)mp, (void)rank, (void)arg;
	set_up();
	for (i = 0; i < 5 * SLOTS + 3; i++, n++) {
		pos = put(1, n);
		CHECK_EQ(pos, n);
		CHECK(!rosm_ring_consumed(&tx, pos));
		chunk = rosm_ring_tx_chunk(&tx, pos);
		CHECK(chunk != NULL);
		memset(chunk, (int)n, CHUNK_BYTES);
		CHECK_EQ(rosm_ring_chunk(&ring, pos)[CHUNK_BYTES - 1],
			 (uint8_t)n);
		get(n);
		CHECK(rosm_ring_consumed(&tx, pos));
		CHECK(rosm_ring_peek(&ring, &pos) == NULL);
	}
	for (lap = 0; lap < 3; lap++) {
		for (i = 0; i < SLOTS; i++)
			put(1, n + (uint64_t)i);
		CHECK(rosm_ring_claim(&tx, ring.inst->who, &pos) == NULL);
		for (i = 0; i < SLOTS; i++)
			get(n++);
	}
	tear_down();
	return 0;
}

static int dead_claimants(struct mp *mp, int rank, void *arg)
{
	uint64_t pos, n;

	(void)mp, (void)rank, (void)arg;
	set_up();
	put(1, 0);
	CHECK(rosm_ring_claim(&tx, DEAD, &pos) != NULL);
	put(1, 1);
	CHECK(rosm_ring_claim(&tx, DEAD, &pos) != NULL);
	put(1, 2);
	for (n = 0; n < 3; n++)
		get(n);
	CHECK(rosm_ring_peek(&ring, &pos) == NULL);
	CHECK_EQ(ring.head, 1);		/* kept by who is gone */
	rosm_ring_reap(&ring, DEAD);
	CHECK_EQ(ring.head, 5);
	for (; n < 3 * SLOTS; n++) {
		put(1, n);
		get(n);
	}
	tear_down();
	return 0;
}

static void take_for(uint64_t pos, uint64_t who)
{
	atomic_store(&tx.slots[pos & tx.mask].word,
		     rosm_slot_word(pos >> tx.log2, ROSM_SLOT_TAKEN, who));
}

/* A producer that delivers a payload itself holds up its own QP alone. */
static int taken(struct mp *mp, int rank, void *arg)
{
	uint64_t pos, first, last;

	(void)mp, (void)rank, (void)arg;
	set_up();
	first = put(5, 0);
	put(5, 1);
	last = put(6, 2);
	take_for(first, DEAD);
	CHECK(!rosm_ring_take(&ring, &ring.slots[first], first));
	get(2);
	CHECK(rosm_ring_peek(&ring, &pos) == NULL);
	CHECK(rosm_ring_consumed(&tx, last));
	rosm_ring_reap(&ring, DEAD);
	CHECK(rosm_ring_take(&ring, &ring.slots[first], first));
	CHECK(rosm_ring_peek(&ring, &pos) == NULL);
	rosm_ring_free(&ring, first);
	get(1);
	CHECK_EQ(ring.head, 3);
	tear_down();
	return 0;
}

#define IN_WORKERS(name, fn)						\
	static void name(void **state)					\
	{								\
		(void)state;						\
		assert_int_equal(mp_run(1, fn, NULL), 0);		\
	}

IN_WORKERS(messages_keep_their_order_over_many_laps, laps)
IN_WORKERS(what_the_dead_claimed_is_freed, dead_claimants)
IN_WORKERS(a_taken_slot_holds_up_its_queue_pair, taken)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_keep_their_order_over_many_laps),
		cmocka_unit_test(what_the_dead_claimed_is_freed),
		cmocka_unit_test(a_taken_slot_holds_up_its_queue_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
