/* SPDX-License-Identifier: BSD-2-Clause */
/* The waiting side of struct ru_lock: see lock.h. */
#include <config.h>

#include "util/lock.h"

#include <sched.h>

/* About as long as a holder on another core needs for its few lines. */
#define SPIN_TURNS	128

void ru_lock_acquire_slow(struct ru_lock *lock)
{
	unsigned int turns = 0;

	do {
		while (ru_lock_is_held(lock)) {
			if (++turns < SPIN_TURNS)
				ru_pause();
			else
				sched_yield();
		}
	} while (!ru_lock_try(lock));
}
