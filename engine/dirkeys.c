/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Key tables of the directory: QPNs and endpoint names. Nobody owns a table;
 * an entry is its instance's while that lives, else void, and is replaced by
 * whoever needs the place. No locks: words change by CAS.
 *
 * A key is unique although two processes may put it at two places at once:
 * each looks over the window after it has put its own (seq_cst on both
 * sides, so one sees the other), and who sees another withdraws.
 */
#include <config.h>

#include "engine/directory.h"
#include "util/fault.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#define INSERT_TRIES	50	/* a millisecond each at most */

static struct rosm_wire_dir_key *key_table(struct rosm_dir *dir,
					   enum rosm_dir_table table,
					   uint32_t *mask_out)
{
	*mask_out = (table == ROSM_DIR_T_QPN ? ROSM_DIR_QPNS :
					       ROSM_DIR_NAMES) - 1;
	return table == ROSM_DIR_T_QPN ? dir->qpns : dir->names;
}

static uint64_t key_word(uint32_t key, uint64_t who)
{
	return (uint64_t)key << ROSM_WIRE_WHO_BITS | who;
}

static uint64_t word_who(uint64_t word)
{
	return word & ROSM_WIRE_WHO_MASK;
}

static uint32_t word_key(uint64_t word)
{
	return (uint32_t)(word >> ROSM_WIRE_WHO_BITS);
}

/* Another living holder of the key than the entry `except`. */
static bool key_held(struct rosm_dir *dir, enum rosm_dir_table table,
		     uint32_t key, const struct rosm_wire_dir_key *except)
{
	uint32_t mask, i;
	struct rosm_wire_dir_key *t = key_table(dir, table, &mask), *e;
	uint64_t word;

	for (i = 0; i < ROSM_DIR_WINDOW; i++) {
		e = &t[(key + i) & mask];
		word = atomic_load_explicit(&e->word, memory_order_seq_cst);
		if (e != except && word && word_key(word) == key &&
		    rosm_dir_alive(dir, word_who(word)))
			return true;
	}
	return false;
}

/*
 * Put the key at this place, if it was `was`. Stopped between the two steps
 * the entry is busy and its owner dead: void. 1 put, 0 someone was faster.
 */
static int key_put(struct rosm_wire_dir_key *e, uint64_t was, uint32_t key,
		   uint64_t who, uint64_t aux)
{
	if (!atomic_compare_exchange_strong_explicit(
		    &e->word, &was, key_word(ROSM_DIR_KEY_BUSY, who),
		    memory_order_acq_rel, memory_order_relaxed))
		return 0;
	RU_KILL_POINT("dir.key.busy");
	/*
	 * Release: who reads this aux (acquire) then sees the busy word, or a
	 * later one, when it looks at the word again.
	 */
	atomic_store_explicit(&e->aux, aux, memory_order_release);
	atomic_store_explicit(&e->word, key_word(key, who),
			      memory_order_seq_cst);
	RU_KILL_POINT("dir.key.put");
	return 1;
}

static void key_withdraw(struct rosm_wire_dir_key *e, uint32_t key,
			 uint64_t who)
{
	uint64_t word = key_word(key, who);

	atomic_compare_exchange_strong_explicit(&e->word, &word, 0,
						memory_order_acq_rel,
						memory_order_relaxed);
}

/* Into the first place of its window that is void; its entry, or NULL. */
static struct rosm_wire_dir_key *key_place(struct rosm_dir *dir,
					   enum rosm_dir_table table,
					   uint32_t key, uint64_t who,
					   uint64_t aux)
{
	uint32_t mask, i;
	struct rosm_wire_dir_key *t = key_table(dir, table, &mask), *e;
	uint64_t word;

	for (i = 0; i < ROSM_DIR_WINDOW; i++) {
		e = &t[(key + i) & mask];
		word = atomic_load_explicit(&e->word, memory_order_acquire);
		if (word && rosm_dir_alive(dir, word_who(word)))
			continue;
		if (key_put(e, word, key, who, aux))
			return e;
	}
	return NULL;
}

int rosm_dir_insert(struct rosm_dir *dir, enum rosm_dir_table table,
		    uint32_t key24, uint64_t who, uint64_t aux)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct rosm_wire_dir_key *e;
	int i;

	if (key24 >= ROSM_DIR_KEY_BUSY)
		return -EINVAL;
	if (RU_FAIL_POINT("dir.insert"))
		return -ENOSPC;
	for (i = 0; i < INSERT_TRIES; i++) {
		/*
		 * A dead holder looks alive for the moment in which another
		 * instance has taken its slot's lock byte and not yet raised
		 * the generation, which is longer where cores are short:
		 * believe it only if it stays.
		 */
		if (key_held(dir, table, key24, NULL)) {
			nanosleep(&ms, NULL);
			continue;
		}
		e = key_place(dir, table, key24, who, aux);
		if (!e)
			return -ENOSPC;
		if (!key_held(dir, table, key24, e))
			return 0;
		key_withdraw(e, key24, who);
		sched_yield();
	}
	return -EEXIST;
}

int rosm_dir_lookup(struct rosm_dir *dir, enum rosm_dir_table table,
		    uint32_t key24, uint64_t *who_out, uint64_t *aux_out)
{
	uint32_t mask, i;
	struct rosm_wire_dir_key *t = key_table(dir, table, &mask), *e;
	uint64_t word, aux;

	if (key24 >= ROSM_DIR_KEY_BUSY)
		return -ENOENT;
	for (i = 0; i < ROSM_DIR_WINDOW; i++) {
		e = &t[(key24 + i) & mask];
		word = atomic_load_explicit(&e->word, memory_order_acquire);
		if (!word || word_key(word) != key24)
			continue;
		aux = atomic_load_explicit(&e->aux, memory_order_acquire);
		if (atomic_load_explicit(&e->word, memory_order_relaxed) !=
			    word || !rosm_dir_alive(dir, word_who(word)))
			continue;
		*who_out = word_who(word);
		*aux_out = aux;
		return 0;
	}
	return -ENOENT;
}

void rosm_dir_remove(struct rosm_dir *dir, enum rosm_dir_table table,
		     uint32_t key24, uint64_t who)
{
	uint32_t mask, i, hint, index = key24 & (ROSM_DIR_QPNS - 1);
	struct rosm_wire_dir_key *t = key_table(dir, table, &mask);

	for (i = 0; i < ROSM_DIR_WINDOW; i++)
		key_withdraw(&t[(key24 + i) & mask], key24, who);
	if (table != ROSM_DIR_T_QPN)
		return;
	hint = atomic_load_explicit(&dir->qpn_hint, memory_order_relaxed);
	while (index < hint &&
	       !atomic_compare_exchange_weak_explicit(
		       &dir->qpn_hint, &hint, index, memory_order_relaxed,
		       memory_order_relaxed))
		;
}

/*
 * The lowest free index, so that few pages are ever touched; the six bits
 * above it come from a count of all QPNs ever tried, so that an index that is
 * used again gives another QPN. A scan asks once for the life of each run of
 * entries of one instance.
 */
int rosm_dir_new_qpn(struct rosm_dir *dir, uint64_t who, uint64_t aux,
		     uint32_t *qpn_out)
{
	uint32_t i, qpn, from;
	uint64_t word, tag, alive_who = who;
	struct rosm_wire_dir_key *e;

	if (RU_FAIL_POINT("dir.qpn"))
		return -ENOSPC;
	from = atomic_load_explicit(&dir->qpn_hint, memory_order_relaxed);
	for (i = from < 2 ? 2 : from; i < ROSM_DIR_QPNS; i++) {
		e = &dir->qpns[i];
		word = atomic_load_explicit(&e->word, memory_order_acquire);
		if (word && word_who(word) == alive_who)
			continue;
		if (word && rosm_dir_alive(dir, word_who(word))) {
			alive_who = word_who(word);
			continue;
		}
		tag = atomic_fetch_add_explicit(&dir->head->next_token, 1,
						memory_order_relaxed);
		qpn = (uint32_t)(tag & 63) << 18 | i;
		if (qpn == ROSM_DIR_KEY_BUSY ||
		    !key_put(e, word, qpn, who, aux))
			continue;
		if (key_held(dir, ROSM_DIR_T_QPN, qpn, e)) {
			key_withdraw(e, qpn, who);
			continue;
		}
		/* A hint that a remove lowered meanwhile stays as it is. */
		atomic_compare_exchange_strong_explicit(
			&dir->qpn_hint, &from, i + 1, memory_order_relaxed,
			memory_order_relaxed);
		*qpn_out = qpn;
		return 0;
	}
	return -ENOSPC;
}
