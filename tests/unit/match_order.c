/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching of messages and receives (prov/rdm_match.c): the order rules one
 * by one, a long random run against a list that is searched from its start,
 * and how many entries a look-up touches when ten thousand wait.
 */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define RFI_MATCH_STEPS
#include "prov/rdm_match.c"

#define ANY	RFI_SRC_ANY
#define NONE	UINT64_C(0)

static struct rfi_match_recv *post(struct rfi_match *m, uint64_t src,
				   uint64_t tag, uint64_t ignore)
{
	struct rfi_match_recv *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->src = src;
	r->tag = tag;
	r->ignore = ignore;
	rfi_match_post(m, r);
	return r;
}

static struct rfi_match_msg *store(struct rfi_match *m, uint64_t src,
				   uint64_t tag)
{
	struct rfi_match_msg *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->src = src;
	g->tag = tag;
	rfi_match_store(m, g);
	return g;
}

static void expect_recv(struct rfi_match *m, uint64_t src, uint64_t tag,
			struct rfi_match_recv *want)
{
	struct rfi_match_recv *r = rfi_match_find_recv(m, src, tag);

	assert_ptr_equal(r, want);
	if (r) {
		rfi_match_unpost(m, r);
		free(r);
	}
}

static void expect_msg(struct rfi_match *m, uint64_t src, uint64_t tag,
		       uint64_t ignore, struct rfi_match_msg *want)
{
	struct rfi_match_msg *g = rfi_match_find_msg(m, src, tag, ignore);

	assert_ptr_equal(g, want);
	if (g) {
		rfi_match_take(m, g);
		free(g);
	}
}

static void message_takes_oldest_receive_across_classes(void **state)
{
	struct rfi_match_recv *a, *b, *c, *d;
	struct rfi_match m;

	(void)state;
	rfi_match_init(&m);
	a = post(&m, ANY, 7, NONE);
	b = post(&m, 1, 7, NONE);
	c = post(&m, ANY, 0, UINT64_MAX);
	d = post(&m, 1, 7, NONE);
	expect_recv(&m, 1, 7, a);
	expect_recv(&m, 1, 7, b);
	expect_recv(&m, 1, 7, c);
	expect_recv(&m, 1, 7, d);
	expect_recv(&m, 1, 7, NULL);
	assert_int_equal(m.recv_count, 0);
	rfi_match_fini(&m);
}

static void receive_takes_oldest_message(void **state)
{
	struct rfi_match_msg *a, *b, *c;
	struct rfi_match m;

	(void)state;
	rfi_match_init(&m);
	a = store(&m, 2, 7);
	b = store(&m, 1, 7);
	c = store(&m, 1, 9);
	expect_msg(&m, 1, 8, NONE, NULL);
	expect_msg(&m, 1, 0, 0xf, b);
	expect_msg(&m, ANY, 0, 0xf, a);
	expect_msg(&m, 3, 9, NONE, NULL);
	expect_msg(&m, ANY, 9, NONE, c);
	assert_int_equal(m.msg_count, 0);
	rfi_match_fini(&m);
}

static void find_leaves_entries_in_place(void **state)
{
	struct rfi_match_recv *r;
	struct rfi_match_msg *g;
	struct rfi_match m;

	(void)state;
	rfi_match_init(&m);
	g = store(&m, 1, 7);
	assert_ptr_equal(rfi_match_find_msg(&m, ANY, 7, NONE), g);
	assert_ptr_equal(rfi_match_find_msg(&m, 1, 7, NONE), g);
	expect_msg(&m, 1, 7, NONE, g);
	r = post(&m, 1, 7, NONE);
	assert_ptr_equal(rfi_match_find_recv(&m, 1, 7), r);
	expect_recv(&m, 1, 7, r);
	rfi_match_fini(&m);
}

static void unpost_of_a_middle_one_keeps_the_order(void **state)
{
	struct rfi_match_recv *r[3];
	struct rfi_match m;
	int out, i;

	(void)state;
	rfi_match_init(&m);
	for (out = 0; out < 3; out++) {
		for (i = 0; i < 3; i++)
			r[i] = post(&m, 1, 7, NONE);
		rfi_match_unpost(&m, r[out]);
		free(r[out]);
		for (i = 0; i < 3; i++)
			if (i != out)
				expect_recv(&m, 1, 7, r[i]);
		expect_recv(&m, 1, 7, NULL);
	}
	rfi_match_fini(&m);
}

static void more_masks_than_classes_still_match_in_order(void **state)
{
	struct rfi_match_recv *r[3 * RFI_MATCH_CLASSES];
	struct rfi_match m;
	size_t i;

	(void)state;
	rfi_match_init(&m);
	for (i = 0; i < RU_ARRAY_SIZE(r); i++)
		r[i] = post(&m, i & 1 ? ANY : 1, 0, UINT64_C(1) << i);
	for (i = 0; i < RU_ARRAY_SIZE(r); i++)
		expect_recv(&m, 1, 0, r[i]);
	assert_int_equal(m.recv_count, 0);
	rfi_match_fini(&m);
}

/* ---- random run ----------------------------------------------------- */

enum { RANDOM_OPS = 200000, NAIVE_MAX = 512 };

struct naive {
	struct rfi_match_recv *recvs[NAIVE_MAX];
	struct rfi_match_msg *msgs[NAIVE_MAX];
	int nrecvs, nmsgs;
};

static uint64_t rng_state;

static uint32_t rng(uint32_t below)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 33) % below;
}

static bool naive_fits(const struct rfi_match_recv *r, uint64_t src,
		       uint64_t tag)
{
	return (r->src == ANY || r->src == src) &&
	       (r->tag | r->ignore) == (tag | r->ignore);
}

static void naive_drop(void **v, int *n, int at)
{
	for ((*n)--; at < *n; at++)
		v[at] = v[at + 1];
}

static void random_message(struct rfi_match *m, struct naive *n)
{
	uint64_t src = rng(4), tag = rng(64);
	struct rfi_match_recv *want = NULL;
	int i;

	for (i = 0; i < n->nrecvs; i++)
		if (naive_fits(n->recvs[i], src, tag)) {
			want = n->recvs[i];
			naive_drop((void **)n->recvs, &n->nrecvs, i);
			break;
		}
	expect_recv(m, src, tag, want);
	if (!want && n->nmsgs < NAIVE_MAX)
		n->msgs[n->nmsgs++] = store(m, src, tag);
}

static void random_receive(struct rfi_match *m, struct naive *n, uint32_t masks)
{
	static const uint64_t mask[] = {
		0, 0x3, 0x3f, 0x1, UINT64_MAX, 0x30, 0x8, 0x2, 0x5, 0x21, 0x7,
	};
	uint64_t src = rng(3) ? rng(4) : ANY, tag = rng(64);
	uint64_t ignore = mask[rng(masks)];
	struct rfi_match_recv r = { .src = src, .tag = tag, .ignore = ignore };
	struct rfi_match_msg *want = NULL;
	int i;

	for (i = 0; i < n->nmsgs; i++)
		if (naive_fits(&r, n->msgs[i]->src, n->msgs[i]->tag)) {
			want = n->msgs[i];
			naive_drop((void **)n->msgs, &n->nmsgs, i);
			break;
		}
	expect_msg(m, src, tag, ignore, want);
	if (!want && n->nrecvs < NAIVE_MAX)
		n->recvs[n->nrecvs++] = post(m, src, tag, ignore);
}

static bool is_arg(struct rfi_match_recv *r, void *arg)
{
	return r == arg;
}

static void random_cancel(struct rfi_match *m, struct naive *n)
{
	struct rfi_match_recv *r;
	int at;

	if (!n->nrecvs)
		return;
	at = (int)rng((uint32_t)n->nrecvs);
	r = n->recvs[at];
	assert_ptr_equal(rfi_match_each_recv(m, is_arg, r), r);
	naive_drop((void **)n->recvs, &n->nrecvs, at);
	rfi_match_unpost(m, r);
	assert_null(rfi_match_each_recv(m, is_arg, r));
	free(r);
}

static void random_run(uint64_t seed, uint32_t masks)
{
	static struct naive n;
	struct rfi_match m;
	uint32_t bias = 5;
	int i;

	rng_state = seed;
	n.nrecvs = n.nmsgs = 0;
	rfi_match_init(&m);
	for (i = 0; i < RANDOM_OPS; i++) {
		if (i % 1000 == 0)
			bias = 1 + rng(9);
		if (rng(50) == 0)
			random_cancel(&m, &n);
		else if (rng(10) < bias)
			random_receive(&m, &n, masks);
		else
			random_message(&m, &n);
		assert_int_equal(m.recv_count, n.nrecvs);
		assert_int_equal(m.msg_count, n.nmsgs);
	}
	while (n.nrecvs)
		random_cancel(&m, &n);
	while (n.nmsgs) {
		n.nmsgs--;
		rfi_match_take(&m, n.msgs[n.nmsgs]);
		free(n.msgs[n.nmsgs]);
	}
	rfi_match_fini(&m);
}

static void random_run_matches_like_a_list_with_few_masks(void **state)
{
	(void)state;
	random_run(0x1234567, 3);
}

static void random_run_matches_like_a_list_with_many_masks(void **state)
{
	(void)state;
	random_run(0x89abcdef, 11);
}

/* ---- cost ----------------------------------------------------------- */

enum { MANY = 10000, STEPS_MAX = 64 };

static uint64_t worst_steps(uint64_t before, uint64_t worst)
{
	uint64_t steps = match_steps - before;

	return steps > worst ? steps : worst;
}

static bool any_recv(struct rfi_match_recv *r, void *arg)
{
	(void)r;
	(void)arg;
	return true;
}

static void ten_thousand_receives_do_not_lengthen_a_look_up(void **state)
{
	static struct rfi_match_recv *few[MANY], *same[MANY];
	uint64_t before, worst = 0;
	struct rfi_match_recv *r;
	struct rfi_match m;
	int i;

	(void)state;
	rfi_match_init(&m);
	for (i = 0; i < MANY; i++) {
		post(&m, (uint64_t)i, 1, NONE);
		post(&m, ANY, (uint64_t)(i + 100) << 8, 0xff);
		same[i] = post(&m, 77777, 5, NONE);
		few[i] = post(&m, (uint64_t)i, 1000, 0x3);
	}
	for (i = 0; i < MANY; i++) {
		before = match_steps;
		expect_recv(&m, 77777, 5, same[i]);
		expect_recv(&m, (uint64_t)(MANY - 1 - i), 1001,
			    few[MANY - 1 - i]);
		worst = worst_steps(before, worst);
	}
	assert_in_range(worst, 1, STEPS_MAX);
	while ((r = rfi_match_each_recv(&m, any_recv, NULL))) {
		rfi_match_unpost(&m, r);
		free(r);
	}
	assert_int_equal(m.recv_count, 0);
	rfi_match_fini(&m);
}

static void ten_thousand_messages_do_not_lengthen_a_look_up(void **state)
{
	static struct rfi_match_msg *g[MANY];
	uint64_t before, worst = 0;
	struct rfi_match m;
	int i;

	(void)state;
	rfi_match_init(&m);
	for (i = 0; i < MANY; i++)
		g[i] = store(&m, (uint64_t)i, (uint64_t)(i % 100));
	/* The first look-up of a class builds its table. */
	assert_ptr_equal(rfi_match_find_msg(&m, 0, 0, 0x3), g[0]);
	assert_ptr_equal(rfi_match_find_msg(&m, ANY, 0, UINT64_MAX), g[0]);
	for (i = MANY - 1; i >= 0; i--) {
		before = match_steps;
		if (i % 2)
			expect_msg(&m, (uint64_t)i, (uint64_t)(i % 100), 0x3,
				   g[i]);
		else
			expect_msg(&m, ANY, 0, UINT64_MAX,
				   g[(MANY - 1 - i) / 2]);
		worst = worst_steps(before, worst);
		if (m.msg_count <= MANY / 2)
			break;
	}
	assert_in_range(worst, 1, STEPS_MAX);
	while (!ru_list_empty(&m.msgs)) {
		struct rfi_match_msg *one =
			ru_list_entry(ru_list_first(&m.msgs),
				      struct rfi_match_msg, all);

		rfi_match_take(&m, one);
		free(one);
	}
	rfi_match_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_takes_oldest_receive_across_classes),
		cmocka_unit_test(receive_takes_oldest_message),
		cmocka_unit_test(find_leaves_entries_in_place),
		cmocka_unit_test(unpost_of_a_middle_one_keeps_the_order),
		cmocka_unit_test(more_masks_than_classes_still_match_in_order),
		cmocka_unit_test(random_run_matches_like_a_list_with_few_masks),
		cmocka_unit_test(random_run_matches_like_a_list_with_many_masks),
		cmocka_unit_test(ten_thousand_receives_do_not_lengthen_a_look_up),
		cmocka_unit_test(ten_thousand_messages_do_not_lengthen_a_look_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
