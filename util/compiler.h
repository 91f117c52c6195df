/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the compiler and the processor offer beyond C11: branch hints, cache
 * hints, the pause of a poll loop, barriers, and small integer helpers.
 * Everything here is inline and without state.
 */
#ifndef RU_COMPILER_H
#define RU_COMPILER_H

#include <stddef.h>
#include <stdint.h>

/* Unit of sharing between cores, and of alignment of shared structures. */
#define RU_CACHELINE	64

#define ru_likely(x)	__builtin_expect(!!(x), 1)
#define ru_unlikely(x)	__builtin_expect(!!(x), 0)

#define RU_PRINTF(fmt, args)	__attribute__((format(printf, fmt, args)))
#define RU_UNUSED		__attribute__((unused))
#define RU_NOINLINE		__attribute__((noinline))
#define RU_ALIGNED(n)		__attribute__((aligned(n)))

#define ru_container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

/* Number of elements; a pointer in place of an array does not compile. */
#define RU_ARRAY_SIZE(a)						\
	(sizeof(a) / sizeof((a)[0]) +					\
	 0 * sizeof(struct {						\
		int not_an_array : __builtin_types_compatible_p(	\
			__typeof__(a), __typeof__(&(a)[0])) ? -1 : 1; }))

/* To be called once a turn by every loop that polls memory. */
static inline void ru_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/*
 * Asks for the line in a state that can be written. Plain x86-64 code would
 * get a read prefetch from the builtin, hence the instruction itself; a
 * processor without it executes it as a no-op.
 */
static inline void ru_prefetchw(const void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1, 3);
#endif
}

static inline void ru_prefetch(const void *p)
{
	__builtin_prefetch(p, 0, 3);
}

/* Orders nothing but the compiler. */
static inline void ru_compiler_barrier(void)
{
	__asm__ volatile("" ::: "memory");
}

/*
 * Stores before it become visible before stores after it. For plain copies
 * only: published words are stored with memory_order_release instead.
 */
static inline void ru_store_barrier(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("" ::: "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dmb ishst" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

static inline uint64_t ru_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t ru_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* align: a power of two. The result wraps to a small value near 2^64. */
static inline uint64_t ru_align_up(uint64_t v, uint64_t align)
{
	return (v + align - 1) & ~(align - 1);
}

static inline uint64_t ru_align_down(uint64_t v, uint64_t align)
{
	return v & ~(align - 1);
}

static inline int ru_is_pow2(uint64_t v)
{
	return v && !(v & (v - 1));
}

/* Floor of the binary logarithm; v must not be 0. */
static inline unsigned int ru_log2(uint64_t v)
{
	return 63 - (unsigned int)__builtin_clzll(v);
}

/* Next power of two that is not below v; 1 for 0; 0 above 2^63. */
static inline uint64_t ru_roundup_pow2(uint64_t v)
{
	if (v <= 1)
		return 1;
	if (v > UINT64_C(1) << 63)
		return 0;
	return UINT64_C(1) << (ru_log2(v - 1) + 1);
}

#endif
