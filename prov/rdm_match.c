/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching by source and tag, see rdm_match.h.
 *
 * A hash table holds one entry a key in its buckets: the oldest. The others
 * of that key hang on it in a ring, so neither a long queue for one key nor
 * many keys lengthen a look-up. Messages enter the table of a class only when
 * a receive of that class looks for one: each class remembers up to which
 * message it has indexed.
 */
#include <config.h>

#include "prov/rdm_match.h"

#include <stdlib.h>

#include "util/compiler.h"

#define MATCH_BITS_FIRST	6
#define MATCH_BITS_MAX		20
#define MATCH_NO_CLASS		RFI_MATCH_CLASSES

/* Tests count the entries that a look-up touches. */
#ifdef RFI_MATCH_STEPS
static uint64_t match_steps;
#define MATCH_STEP()	(match_steps++)
#else
#define MATCH_STEP()	((void)0)
#endif

/* ---- hash table of links -------------------------------------------- */

static inline uint32_t match_hash(uint64_t src, uint64_t tag, uint32_t bits)
{
	uint64_t h = src * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ (h >> 29) ^ tag) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 32)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(h >> (64 - bits));
}

static int index_alloc(struct rfi_match_index *ix, uint32_t bits)
{
	struct ru_list *old = ix->buckets, *new, *l, *tmp;
	uint32_t i;

	new = malloc(sizeof(*new) << bits);
	if (!new)
		return -1;
	for (i = 0; i < 1u << bits; i++)
		ru_list_init(&new[i]);
	for (i = 0; old && i < 1u << ix->bits; i++) {
		ru_list_for_each_safe(l, tmp, &old[i]) {
			struct rfi_match_link *k =
				ru_list_entry(l, struct rfi_match_link, bucket);

			ru_list_del(l);
			ru_list_add_tail(&new[match_hash(k->src, k->tag, bits)],
					 l);
		}
	}
	free(old);
	ix->buckets = new;
	ix->bits = bits;
	return 0;
}

static struct rfi_match_link *index_find(const struct rfi_match_index *ix,
					 uint64_t src, uint64_t tag)
{
	struct ru_list *head, *l;

	if (!ix->keys)
		return NULL;
	head = &ix->buckets[match_hash(src, tag, ix->bits)];
	ru_list_for_each(l, head) {
		struct rfi_match_link *k =
			ru_list_entry(l, struct rfi_match_link, bucket);

		MATCH_STEP();
		if (k->src == src && k->tag == tag)
			return k;
	}
	return NULL;
}

/* k->src and tag are set; it becomes the youngest of its key. */
static void index_add(struct rfi_match_index *ix, struct rfi_match_link *k)
{
	struct rfi_match_link *first = index_find(ix, k->src, k->tag);

	ru_list_init(&k->bucket);
	ru_list_init(&k->same);
	if (first) {
		ru_list_add_tail(&first->same, &k->same);
		return;
	}
	if (ix->keys >= 1u << ix->bits && ix->bits < MATCH_BITS_MAX)
		(void)index_alloc(ix, ix->bits + 2);	/* or stay slower */
	ru_list_add_tail(&ix->buckets[match_hash(k->src, k->tag, ix->bits)],
			 &k->bucket);
	ix->keys++;
}

static void index_del(struct rfi_match_index *ix, struct rfi_match_link *k)
{
	if (!ru_list_empty(&k->bucket)) {
		struct ru_list *next = ru_list_first(&k->same);

		if (next)
			ru_list_add_before(&k->bucket,
				&ru_list_entry(next, struct rfi_match_link,
					       same)->bucket);
		else
			ix->keys--;
		ru_list_del(&k->bucket);
	}
	ru_list_del(&k->same);
}

/* ---- classes -------------------------------------------------------- */

static void class_forget_msgs(struct rfi_match *m, uint32_t c)
{
	struct ru_list *l;

	ru_list_for_each(l, &m->msgs) {
		struct rfi_match_msg *g =
			ru_list_entry(l, struct rfi_match_msg, all);

		if (g->indexed & 1u << c) {
			index_del(&m->cls[c].msgs, &g->link[c]);
			g->indexed &= ~(1u << c);
		}
	}
}

/* Find, or make in place of the one that was not used longest. */
static uint32_t class_get_slow(struct rfi_match *m, bool any_src,
			       uint64_t ignore)
{
	uint32_t c, pick = MATCH_NO_CLASS;
	struct rfi_match_class *k;

	for (c = 0; c < RFI_MATCH_CLASSES; c++) {
		k = &m->cls[c];
		if (k->used && k->any_src == any_src && k->ignore == ignore)
			return c;
		if (k->posted)
			continue;
		if (pick == MATCH_NO_CLASS || k->used_at < m->cls[pick].used_at)
			pick = c;
	}
	if (pick == MATCH_NO_CLASS)
		return pick;
	k = &m->cls[pick];
	if ((!k->recvs.buckets && index_alloc(&k->recvs, MATCH_BITS_FIRST)) ||
	    (!k->msgs.buckets && index_alloc(&k->msgs, MATCH_BITS_FIRST)))
		return MATCH_NO_CLASS;
	if (k->msgs.keys)
		class_forget_msgs(m, pick);
	k->used = true;
	k->any_src = any_src;
	k->ignore = ignore;
	k->upto = 0;
	return pick;
}

static inline uint32_t class_get(struct rfi_match *m, bool any_src,
				 uint64_t ignore)
{
	const struct rfi_match_class *k = &m->cls[m->recent];
	uint32_t c = m->recent;

	if (ru_unlikely(!k->used || k->any_src != any_src ||
			k->ignore != ignore)) {
		c = class_get_slow(m, any_src, ignore);
		if (c == MATCH_NO_CLASS)
			return c;
		m->recent = c;
		m->cls[c].used_at = ++m->clock;
	}
	return c;
}

static inline bool match_accepts(uint64_t src, uint64_t tag, uint64_t ignore,
				 uint64_t msg_src, uint64_t msg_tag)
{
	return (src == RFI_SRC_ANY || src == msg_src) &&
	       !((tag ^ msg_tag) & ~ignore);
}

/* ---- posted receives ------------------------------------------------ */

static void recv_index(struct rfi_match *m, struct rfi_match_recv *r)
{
	uint32_t c = class_get(m, r->src == RFI_SRC_ANY, r->ignore);

	r->cls = c;
	if (ru_unlikely(c == MATCH_NO_CLASS)) {
		ru_list_add_tail(&m->rest, &r->link.same);
		return;
	}
	r->link.src = r->src;
	r->link.tag = r->tag & ~r->ignore;
	index_add(&m->cls[c].recvs, &r->link);
	m->cls[c].posted++;
	m->active |= 1u << c;
}

void rfi_match_post(struct rfi_match *m, struct rfi_match_recv *r)
{
	r->seq = m->recv_seq++;
	if (!m->recv_count++) {
		m->lone = r;
		return;
	}
	if (m->lone) {
		recv_index(m, m->lone);
		m->lone = NULL;
	}
	recv_index(m, r);
}

void rfi_match_unpost(struct rfi_match *m, struct rfi_match_recv *r)
{
	m->recv_count--;
	if (m->lone) {
		m->lone = NULL;
		return;
	}
	if (ru_unlikely(r->cls == MATCH_NO_CLASS)) {
		ru_list_del(&r->link.same);
		return;
	}
	index_del(&m->cls[r->cls].recvs, &r->link);
	if (!--m->cls[r->cls].posted)
		m->active &= ~(1u << r->cls);
}

static struct rfi_match_recv *rest_find(struct rfi_match *m, uint64_t src,
					uint64_t tag)
{
	struct ru_list *l;

	ru_list_for_each(l, &m->rest) {
		struct rfi_match_recv *r =
			ru_list_entry(l, struct rfi_match_recv, link.same);

		MATCH_STEP();
		if (match_accepts(r->src, r->tag, r->ignore, src, tag))
			return r;
	}
	return NULL;
}

struct rfi_match_recv *rfi_match_find_recv(struct rfi_match *m, uint64_t src,
					   uint64_t tag)
{
	struct rfi_match_recv *best = m->lone;
	uint32_t left;

	if (best)
		return match_accepts(best->src, best->tag, best->ignore, src,
				     tag) ? best : NULL;
	for (left = m->active; left; left &= left - 1) {
		const struct rfi_match_class *k =
			&m->cls[__builtin_ctz(left)];
		struct rfi_match_link *found;
		struct rfi_match_recv *r;

		found = index_find(&k->recvs, k->any_src ? RFI_SRC_ANY : src,
				   tag & ~k->ignore);
		if (!found)
			continue;
		r = ru_container_of(found, struct rfi_match_recv, link);
		if (!best || r->seq < best->seq)
			best = r;
	}
	if (ru_unlikely(!ru_list_empty(&m->rest))) {
		struct rfi_match_recv *r = rest_find(m, src, tag);

		if (r && (!best || r->seq < best->seq))
			best = r;
	}
	return best;
}

struct rfi_match_recv *
rfi_match_each_recv(struct rfi_match *m,
		    bool (*fn)(struct rfi_match_recv *r, void *arg), void *arg)
{
	struct ru_list *l, *s;
	uint32_t c, i;

	if (m->lone)
		return fn(m->lone, arg) ? m->lone : NULL;
	for (c = 0; c < RFI_MATCH_CLASSES; c++) {
		const struct rfi_match_index *ix = &m->cls[c].recvs;

		for (i = 0; ix->keys && i < 1u << ix->bits; i++) {
			ru_list_for_each(l, &ix->buckets[i]) {
				struct rfi_match_link *k =
					ru_list_entry(l, struct rfi_match_link,
						      bucket);

				s = &k->same;
				do {
					struct rfi_match_recv *r =
						ru_list_entry(s,
							struct rfi_match_recv,
							link.same);

					if (fn(r, arg))
						return r;
					s = s->next;
				} while (s != &k->same);
			}
		}
	}
	ru_list_for_each(l, &m->rest) {
		struct rfi_match_recv *r =
			ru_list_entry(l, struct rfi_match_recv, link.same);

		if (fn(r, arg))
			return r;
	}
	return NULL;
}

/* ---- waiting messages ----------------------------------------------- */

void rfi_match_store(struct rfi_match *m, struct rfi_match_msg *g)
{
	g->seq = ++m->msg_seq;
	g->indexed = 0;
	m->msg_count++;
	ru_list_add_tail(&m->msgs, &g->all);
}

void rfi_match_take(struct rfi_match *m, struct rfi_match_msg *g)
{
	uint32_t left;

	for (left = g->indexed; left; left &= left - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(left);

		index_del(&m->cls[c].msgs, &g->link[c]);
	}
	g->indexed = 0;
	m->msg_count--;
	ru_list_del(&g->all);
}

/* Messages that came since the class was last asked enter its table. */
static void class_catch_up(struct rfi_match *m, uint32_t c)
{
	struct rfi_match_class *k = &m->cls[c];
	struct ru_list *l;

	for (l = m->msgs.prev; l != &m->msgs; l = l->prev)
		if (ru_list_entry(l, struct rfi_match_msg, all)->seq <= k->upto)
			break;
	for (l = l->next; l != &m->msgs; l = l->next) {
		struct rfi_match_msg *g =
			ru_list_entry(l, struct rfi_match_msg, all);
		struct rfi_match_link *link = &g->link[c];

		link->src = k->any_src ? RFI_SRC_ANY : g->src;
		link->tag = g->tag & ~k->ignore;
		index_add(&k->msgs, link);
		g->indexed |= 1u << c;
	}
	k->upto = m->msg_seq;
}

struct rfi_match_msg *rfi_match_find_msg(struct rfi_match *m, uint64_t src,
					 uint64_t tag, uint64_t ignore)
{
	struct rfi_match_link *found;
	struct ru_list *l;
	uint32_t c;

	if (!m->msg_count)
		return NULL;
	c = class_get(m, src == RFI_SRC_ANY, ignore);
	if (ru_likely(c != MATCH_NO_CLASS)) {
		if (m->cls[c].upto != m->msg_seq)
			class_catch_up(m, c);
		found = index_find(&m->cls[c].msgs, src, tag & ~ignore);
		return found ? ru_container_of(found - c, struct rfi_match_msg,
					       link) : NULL;
	}
	ru_list_for_each(l, &m->msgs) {
		struct rfi_match_msg *g =
			ru_list_entry(l, struct rfi_match_msg, all);

		MATCH_STEP();
		if (match_accepts(src, tag, ignore, g->src, g->tag))
			return g;
	}
	return NULL;
}

/* --------------------------------------------------------------------- */

void rfi_match_init(struct rfi_match *m)
{
	*m = (struct rfi_match){ 0 };
	ru_list_init(&m->rest);
	ru_list_init(&m->msgs);
}

void rfi_match_fini(struct rfi_match *m)
{
	uint32_t c;

	for (c = 0; c < RFI_MATCH_CLASSES; c++) {
		free(m->cls[c].recvs.buckets);
		free(m->cls[c].msgs.buckets);
	}
}
