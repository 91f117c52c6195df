/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The intrusive list keeps order through every way in and out.
 */
#include <config.h>

#include "util/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct item {
	int value;
	struct ru_list link;
};

static struct item items[5];

static int setup(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		items[i].value = i;
		ru_list_init(&items[i].link);
	}
	return 0;
}

static int value_of(struct ru_list *l)
{
	return ru_list_entry(l, struct item, link)->value;
}

static void expect(struct ru_list *head, const char *digits)
{
	struct ru_list *l;

	ru_list_for_each(l, head) {
		assert_int_equal(value_of(l), *digits - '0');
		assert_ptr_equal(l->next->prev, l);
		digits++;
	}
	assert_int_equal(*digits, '\0');
}

static void tail_and_head_insertion_keep_order(void **state)
{
	struct ru_list head;

	(void)state;
	ru_list_init(&head);
	assert_true(ru_list_empty(&head));
	assert_null(ru_list_first(&head));
	assert_null(ru_list_last(&head));
	ru_list_add_tail(&head, &items[1].link);
	ru_list_add_tail(&head, &items[2].link);
	ru_list_add_head(&head, &items[0].link);
	expect(&head, "012");
	ru_list_add_before(&items[1].link, &items[3].link);
	ru_list_add_after(&items[1].link, &items[4].link);
	expect(&head, "03142");
	assert_int_equal(value_of(ru_list_first(&head)), 0);
	assert_int_equal(value_of(ru_list_last(&head)), 2);
}

static void pop_head_empties_the_list_in_order(void **state)
{
	struct ru_list head, *l;
	int i;

	(void)state;
	ru_list_init(&head);
	for (i = 0; i < 3; i++)
		ru_list_add_tail(&head, &items[i].link);
	for (i = 0; i < 3; i++) {
		l = ru_list_pop_head(&head);
		assert_int_equal(value_of(l), i);
		assert_true(ru_list_empty(l));
	}
	assert_null(ru_list_pop_head(&head));
}

static void deleting_twice_is_harmless(void **state)
{
	struct ru_list head;

	(void)state;
	ru_list_init(&head);
	ru_list_add_tail(&head, &items[0].link);
	ru_list_add_tail(&head, &items[1].link);
	ru_list_del(&items[0].link);
	ru_list_del(&items[0].link);
	expect(&head, "1");
}

static void safe_iteration_survives_deletion_of_the_current(void **state)
{
	struct ru_list head, *l, *tmp;
	int i;

	(void)state;
	ru_list_init(&head);
	for (i = 0; i < 5; i++)
		ru_list_add_tail(&head, &items[i].link);
	ru_list_for_each_safe(l, tmp, &head)
		if (value_of(l) % 2 == 0)
			ru_list_del(l);
	expect(&head, "13");
}

static void splice_moves_all_and_leaves_the_source_empty(void **state)
{
	struct ru_list a, b;

	(void)state;
	ru_list_init(&a);
	ru_list_init(&b);
	ru_list_splice_tail(&a, &b);
	assert_true(ru_list_empty(&a));
	ru_list_add_tail(&a, &items[0].link);
	ru_list_add_tail(&b, &items[1].link);
	ru_list_add_tail(&b, &items[2].link);
	ru_list_splice_tail(&a, &b);
	expect(&a, "012");
	assert_true(ru_list_empty(&b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tail_and_head_insertion_keep_order,
				       setup),
		cmocka_unit_test_setup(pop_head_empties_the_list_in_order,
				       setup),
		cmocka_unit_test_setup(deleting_twice_is_harmless, setup),
		cmocka_unit_test_setup(
			safe_iteration_survives_deletion_of_the_current,
			setup),
		cmocka_unit_test_setup(
			splice_moves_all_and_leaves_the_source_empty, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
