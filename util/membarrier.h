/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asymmetric fences between processes. Where a fast side and a slow side
 * each store and then load the other's word, the fast side needs only a
 * compiler barrier if the slow side calls ru_membarrier() between its store
 * and its load: the kernel then makes every running thread of every
 * registered process pass a full barrier.
 *
 * It reaches registered processes only. A process publishes what
 * ru_membarrier_available() says of it; towards one that is not registered
 * both sides use ru_fence().
 */
#ifndef RU_MEMBARRIER_H
#define RU_MEMBARRIER_H

#include <stdbool.h>

/*
 * Registers this process to be reached. Idempotent, any thread; also done by
 * the two calls below. A fork child inherits it, an exec drops it. 0, or
 * -ENOSYS / -EINVAL where the kernel has none: then all is fences.
 */
int ru_membarrier_init(void);

/* True when this process is reached by others' ru_membarrier(). */
bool ru_membarrier_available(void);

/* A full fence here, and in all registered processes where available. */
void ru_membarrier(void);

/* A full fence of this thread alone. */
static inline void ru_fence(void)
{
#if defined(__x86_64__)
	/* Cheaper than mfence, and says the same about ordinary memory. */
	__asm__ volatile("lock; orl $0, -4(%%rsp)" ::: "memory", "cc");
#elif defined(__aarch64__)
	__asm__ volatile("dmb ish" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

#endif
