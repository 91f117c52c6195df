/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock excludes, with one thread and with several.
 */
#include <config.h>

#include "util/lock.h"

#include <pthread.h>
#include <sched.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define THREADS	4
#define TURNS	20000

static struct ru_lock lock = RU_LOCK_INITIALIZER;
static long counter;

static void *count(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < TURNS; i++) {
		long seen;

		ru_lock_acquire(&lock);
		seen = counter;
		if (i % 16 == 0)	/* let others break in, if they can */
			sched_yield();
		counter = seen + 1;
		ru_lock_release(&lock);
	}
	return NULL;
}

static void *try_once(void *arg)
{
	(void)arg;
	return ru_lock_try(&lock) ? &lock : NULL;
}

static void a_held_lock_is_not_taken_again_by_one_thread(void **state)
{
	struct ru_lock l;

	(void)state;
	ru_lock_init(&l);
	assert_false(ru_lock_is_held(&l));
	ru_lock_acquire(&l);
	assert_true(ru_lock_is_held(&l));
	assert_false(ru_lock_try(&l));
	ru_lock_release(&l);
	assert_true(ru_lock_try(&l));
	ru_lock_release(&l);
}

/* Runs before any thread exists: the lock is taken on the short way. */
static void a_thread_born_while_it_is_held_finds_it_held(void **state)
{
	pthread_t thread;
	void *taken = &lock;

	(void)state;
	ru_lock_acquire(&lock);
	assert_int_equal(pthread_create(&thread, NULL, try_once, NULL), 0);
	assert_int_equal(pthread_join(thread, &taken), 0);
	assert_null(taken);
	ru_lock_release(&lock);
}

static void no_increment_of_several_threads_is_lost(void **state)
{
	pthread_t thread[THREADS];
	int i;

	(void)state;
	counter = 0;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, count, NULL),
				 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_int_equal(counter, (long)THREADS * TURNS);
	assert_false(ru_lock_is_held(&lock));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_held_lock_is_not_taken_again_by_one_thread),
		cmocka_unit_test(a_thread_born_while_it_is_held_finds_it_held),
		cmocka_unit_test(no_increment_of_several_threads_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
