/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copy loops: see copy.h for what they promise. Each ends with one store
 * that reaches back over bytes already copied, so that no size needs a
 * ladder of tails; ru_store_barrier() before it keeps that store the last
 * one. The asm in the loops keeps the compiler from turning them back into
 * calls of memcpy.
 */
#include <config.h>

#include "util/copy.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#endif

/* Below this the wider loop does not pay for finding its alignment. */
#define WIDE_MIN	256
/*
 * From here on the string instruction, which writes whole lines without
 * fetching them first: worth a factor of 3 where another core has them. On
 * Zen 3 it is slow just behind its source.
 */
#ifndef STRING_MIN
#define STRING_MIN	1536
#endif

/* 16 bytes at any address. */
typedef uint64_t vec16
	__attribute__((vector_size(16), aligned(1), may_alias));

static inline vec16 load16(const char *p)
{
	return *(const vec16 *)p;
}

static inline void store16(char *p, vec16 v)
{
	*(vec16 *)p = v;
}

/* n > 16 */
static void copy_plain(char *d, const char *s, size_t n)
{
	vec16 tail = load16(s + n - 16);
	char *last = d + n - 16;

	while (n > 64) {
		vec16 a = load16(s), b = load16(s + 16);
		vec16 c = load16(s + 32), e = load16(s + 48);

		store16(d, a);
		store16(d + 16, b);
		store16(d + 32, c);
		store16(d + 48, e);
		ru_compiler_barrier();
		s += 64;
		d += 64;
		n -= 64;
	}
	while (n > 16) {
		store16(d, load16(s));
		ru_compiler_barrier();
		s += 16;
		d += 16;
		n -= 16;
	}
	ru_store_barrier();
	store16(last, tail);
}

#if defined(__x86_64__)

#define LOAD32(p)	_mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE32(p, v)	_mm256_storeu_si256((__m256i *)(void *)(p), v)

/* n > WIDE_MIN */
__attribute__((target("avx2")))
static void copy_avx2(char *d, const char *s, size_t n)
{
	size_t head = 32 - ((uintptr_t)d & 31);
	__m256i tail = LOAD32(s + n - 32);
	char *last = d + n - 32;

	STORE32(d, LOAD32(s));
	s += head;
	d += head;
	n -= head;
	while (n > 128) {
		__m256i a = LOAD32(s), b = LOAD32(s + 32);
		__m256i c = LOAD32(s + 64), e = LOAD32(s + 96);

		STORE32(d, a);
		STORE32(d + 32, b);
		STORE32(d + 64, c);
		STORE32(d + 96, e);
		ru_compiler_barrier();
		s += 128;
		d += 128;
		n -= 128;
	}
	while (n > 32) {
		STORE32(d, LOAD32(s));
		ru_compiler_barrier();
		s += 32;
		d += 32;
		n -= 32;
	}
	ru_store_barrier();
	STORE32(last, tail);
}

/* n >= STRING_MIN */
static void copy_string(char *d, const char *s, size_t n)
{
	__m128i a = _mm_loadu_si128((const __m128i *)(const void *)(s + n - 16));
	char *last = d + n - 16;

	n -= 16;
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	_mm_storeu_si128((__m128i *)(void *)last, a);
}

static bool have_erms;

__attribute__((constructor))
static void look_for_erms(void)
{
	unsigned int a, b, c, d;

	have_erms = __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1u << 9;
}

/* Not a few bytes ahead of its source, modulo a page. */
static inline bool string_is_fast(const void *dst, const void *src)
{
	return (((uintptr_t)dst - (uintptr_t)src - 1) & 4095) >= 63;
}

void ru_copy_long(void *dst, const void *src, size_t n)
{
	/* A load and a test: the runtime looked at the processor at start. */
	if (n >= STRING_MIN && have_erms && string_is_fast(dst, src))
		copy_string(dst, src, n);
	else if (n > WIDE_MIN && __builtin_cpu_supports("avx2"))
		copy_avx2(dst, src, n);
	else
		copy_plain(dst, src, n);
}

#define STREAM16(d, s, at)						\
	_mm_stream_si128((__m128i *)(void *)((d) + (at)),		\
			 _mm_loadu_si128(				\
				 (const __m128i *)(const void *)((s) + (at))))

void ru_copy_stream(void *dst, const void *src, size_t n)
{
	const char *s = src;
	char *d = dst;
	size_t head;

	if (n <= WIDE_MIN) {
		ru_copy(dst, src, n);
		return;
	}
	/* Whole lines, else the write-combining buffers flush half full. */
	head = 64 - ((uintptr_t)d & 63);
	ru_copy(d, s, head);
	s += head;
	d += head;
	n -= head;
	while (n > 64) {	/* at least one byte is left for the end */
		_mm_prefetch(s + 512, _MM_HINT_NTA);
		STREAM16(d, s, 0);
		STREAM16(d, s, 16);
		STREAM16(d, s, 32);
		STREAM16(d, s, 48);
		s += 64;
		d += 64;
		n -= 64;
	}
	_mm_sfence();		/* streaming stores are not ordered */
	ru_copy(d, s, n);
}

#else

void ru_copy_long(void *dst, const void *src, size_t n)
{
	copy_plain(dst, src, n);
}

void ru_copy_stream(void *dst, const void *src, size_t n)
{
	ru_copy(dst, src, n);
}

#endif

size_t ru_iov_len(const struct iovec *iov, size_t iov_count)
{
	size_t sum = 0;
	size_t i;

	for (i = 0; i < iov_count; i++)
		if (__builtin_add_overflow(sum, iov[i].iov_len, &sum))
			return SIZE_MAX;
	return sum;
}

size_t ru_copy_from_iov(void *dst, const struct iovec *iov, size_t iov_count,
			size_t offset, size_t len)
{
	size_t done = 0;
	size_t i;

	for (i = 0; i < iov_count && done < len; i++) {
		size_t n = iov[i].iov_len;

		if (offset >= n) {
			offset -= n;
			continue;
		}
		n = ru_min(n - offset, len - done);
		ru_copy((char *)dst + done,
			(const char *)iov[i].iov_base + offset, n);
		offset = 0;
		done += n;
	}
	return done;
}

size_t ru_copy_to_iov(const struct iovec *iov, size_t iov_count,
		      size_t offset, const void *src, size_t len)
{
	size_t done = 0;
	size_t i;

	for (i = 0; i < iov_count && done < len; i++) {
		size_t n = iov[i].iov_len;

		if (offset >= n) {
			offset -= n;
			continue;
		}
		n = ru_min(n - offset, len - done);
		if (done)	/* the pieces, too, are stored in order */
			ru_store_barrier();
		ru_copy((char *)iov[i].iov_base + offset,
			(const char *)src + done, n);
		offset = 0;
		done += n;
	}
	return done;
}
