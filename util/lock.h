/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lock for a few instructions between the threads of one process: spins a
 * little, then yields. While the C library says that the process has one
 * thread, taking it costs a load and a store instead of an atomic
 * read-modify-write; the word is kept true in either case, so that a thread
 * born while the lock is held finds it held.
 *
 * Never for memory that other processes map (the owner may be killed). After
 * a fork the child calls ru_lock_init() again on locks that another thread
 * may have held. Not recursive, not to be held over a copy or a system call
 * that can block.
 */
#ifndef RU_LOCK_H
#define RU_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/single_threaded.h>

#include "util/compiler.h"

struct ru_lock {
	atomic_uint word;	/* 0 free, 1 held */
};

#define RU_LOCK_INITIALIZER	{ 0 }

/* Waits until the lock is seen free, then tries again; see lock.c. */
void ru_lock_acquire_slow(struct ru_lock *lock);

static inline void ru_lock_init(struct ru_lock *lock)
{
	atomic_init(&lock->word, 0);
}

/* True when the lock was taken. */
static inline bool ru_lock_try(struct ru_lock *lock)
{
	unsigned int free_word = 0;

	if (__libc_single_threaded) {
		if (atomic_load_explicit(&lock->word, memory_order_relaxed))
			return false;
		atomic_store_explicit(&lock->word, 1, memory_order_relaxed);
		return true;
	}
	return atomic_compare_exchange_strong_explicit(
		&lock->word, &free_word, 1, memory_order_acquire,
		memory_order_relaxed);
}

static inline void ru_lock_acquire(struct ru_lock *lock)
{
	if (ru_unlikely(!ru_lock_try(lock)))
		ru_lock_acquire_slow(lock);
}

static inline void ru_lock_release(struct ru_lock *lock)
{
	atomic_store_explicit(&lock->word, 0, memory_order_release);
}

/* For asserts of functions that need the lock: held by somebody. */
static inline bool ru_lock_is_held(struct ru_lock *lock)
{
	return atomic_load_explicit(&lock->word, memory_order_relaxed) != 0;
}

#endif
