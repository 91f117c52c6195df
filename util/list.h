/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intrusive doubly linked ring with a head. The same struct serves as head
 * and as link; links live in the caller's objects, nothing is allocated. An
 * unlinked link points at itself, so that deleting it again is harmless. No
 * locking.
 */
#ifndef RU_LIST_H
#define RU_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "util/compiler.h"

struct ru_list {
	struct ru_list *next;
	struct ru_list *prev;
};

/* Serves heads and links alike. */
static inline void ru_list_init(struct ru_list *l)
{
	l->next = l;
	l->prev = l;
}

/* Of a head: nothing in the list. Of a link: not in any list. */
static inline bool ru_list_empty(const struct ru_list *head)
{
	return head->next == head;
}

static inline void ru_list_insert_between(struct ru_list *l,
					  struct ru_list *prev,
					  struct ru_list *next)
{
	l->prev = prev;
	l->next = next;
	prev->next = l;
	next->prev = l;
}

static inline void ru_list_add_head(struct ru_list *head, struct ru_list *l)
{
	ru_list_insert_between(l, head, head->next);
}

static inline void ru_list_add_tail(struct ru_list *head, struct ru_list *l)
{
	ru_list_insert_between(l, head->prev, head);
}

/* Before or behind an element that is in a list. */
static inline void ru_list_add_before(struct ru_list *at, struct ru_list *l)
{
	ru_list_insert_between(l, at->prev, at);
}

static inline void ru_list_add_after(struct ru_list *at, struct ru_list *l)
{
	ru_list_insert_between(l, at, at->next);
}

/* Needs no head. */
static inline void ru_list_del(struct ru_list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	ru_list_init(l);
}

/* NULL when the list is empty. */
static inline struct ru_list *ru_list_first(const struct ru_list *head)
{
	return head->next == head ? NULL : head->next;
}

static inline struct ru_list *ru_list_last(const struct ru_list *head)
{
	return head->prev == head ? NULL : head->prev;
}

static inline struct ru_list *ru_list_pop_head(struct ru_list *head)
{
	struct ru_list *l = ru_list_first(head);

	if (l)
		ru_list_del(l);
	return l;
}

/* Moves all elements to the end of another list; leaves the first empty. */
static inline void ru_list_splice_tail(struct ru_list *to,
				       struct ru_list *from)
{
	if (ru_list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	ru_list_init(from);
}

#define ru_list_entry(l, type, member)	ru_container_of(l, type, member)

/* it: a struct ru_list * to declare before. The list must not change. */
#define ru_list_for_each(it, head) \
	for ((it) = (head)->next; (it) != (head); (it) = (it)->next)

/* tmp: a second cursor. The body may delete (or free) the element it. */
#define ru_list_for_each_safe(it, tmp, head)				\
	for ((it) = (head)->next, (tmp) = (it)->next; (it) != (head);	\
	     (it) = (tmp), (tmp) = (it)->next)

#endif
