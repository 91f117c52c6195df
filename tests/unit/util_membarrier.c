/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store-load race between a fast side with compiler barriers and a slow side
 * that calls the barrier, across processes: never do both miss the other.
 */
#include <config.h>

#include "util/compiler.h"
#include "util/membarrier.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROUNDS = 50000 };

struct board {
	_Alignas(64) atomic_uint go;
	_Alignas(64) atomic_uint fast;
	_Alignas(64) atomic_uint slow;
	_Alignas(64) atomic_uint fast_saw;
	_Alignas(64) atomic_uint done;
};

/* Close in time if the other runs on another core, fair if it does not. */
static void await(atomic_uint *word, unsigned int round)
{
	unsigned int turns = 0;

	while (atomic_load_explicit(word, memory_order_acquire) != round) {
		if (++turns < 2000)
			ru_pause();
		else
			sched_yield();
	}
}

static void fast_side(struct board *b)
{
	bool light = ru_membarrier_available();
	unsigned int round, saw;

	for (round = 1; round <= ROUNDS; round++) {
		await(&b->go, round);
		atomic_store_explicit(&b->fast, round, memory_order_relaxed);
		if (light)
			ru_compiler_barrier();
		else
			ru_fence();
		saw = atomic_load_explicit(&b->slow, memory_order_relaxed);
		atomic_store_explicit(&b->fast_saw, saw,
				      memory_order_relaxed);
		atomic_store_explicit(&b->done, round, memory_order_release);
	}
	_exit(0);
}

static void one_of_both_sides_sees_the_other(void **state)
{
	unsigned int round, slow_saw, i;
	struct board *b;
	pid_t child;
	int status;

	(void)state;
	b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(b, MAP_FAILED);
	ru_membarrier_init();
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		alarm(60);
		fast_side(b);
	}
	for (round = 1; round <= ROUNDS; round++) {
		atomic_store_explicit(&b->go, round, memory_order_release);
		/* Sweep the distance between the two stores. */
		for (i = 0; i < round % 64; i++)
			ru_compiler_barrier();
		atomic_store_explicit(&b->slow, round, memory_order_relaxed);
		ru_membarrier();
		slow_saw = atomic_load_explicit(&b->fast,
						memory_order_relaxed);
		await(&b->done, round);
		if (slow_saw != round &&
		    atomic_load_explicit(&b->fast_saw,
					 memory_order_relaxed) != round)
			fail_msg("round %u: neither saw the other", round);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	munmap(b, sizeof(*b));
}

static void init_and_available_agree_and_repeat(void **state)
{
	int rc = ru_membarrier_init();

	(void)state;
	assert_int_equal(ru_membarrier_init(), rc);
	assert_int_equal(ru_membarrier_available(), rc == 0);
	assert_true(rc <= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_and_available_agree_and_repeat),
		cmocka_unit_test(one_of_both_sides_sees_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
