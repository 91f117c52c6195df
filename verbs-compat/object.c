/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of handles. One mutex for all of them: it is taken where objects
 * are made and destroyed and where an event is read, never on the data path.
 * A fork happens with the mutex held, so that a child finds it free.
 */
#include <config.h>

#include "verbs-compat/object.h"

#include "util/idtable.h"

#include <pthread.h>

enum { HANDLE_INDEX_BITS = 22, HANDLE_TAG_BITS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct ru_idtable tables[RVC_CLASSES];
static bool ready;

void rvc_handles_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void rvc_handles_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

static int make_ready_locked(void)
{
	int err;

	if (ready)
		return 0;
	for (int i = 0; i < RVC_CLASSES; i++) {
		err = ru_idtable_init(&tables[i], HANDLE_INDEX_BITS,
				      HANDLE_TAG_BITS);
		if (err) {
			while (i-- > 0)
				ru_idtable_fini(&tables[i]);
			return err;
		}
	}
	err = pthread_atfork(rvc_handles_lock, rvc_handles_unlock,
			     rvc_handles_unlock);
	if (err) {
		for (int i = 0; i < RVC_CLASSES; i++)
			ru_idtable_fini(&tables[i]);
		return -err;
	}
	ready = true;
	return 0;
}

int rvc_handle_alloc(enum rvc_class class, void *object, uint32_t *handle_out)
{
	int err;

	rvc_handles_lock();
	err = make_ready_locked();
	if (!err)
		err = ru_idtable_alloc(&tables[class], object, handle_out);
	rvc_handles_unlock();
	return err == -ENOSPC ? -ENOMEM : err;
}

void rvc_handle_free(enum rvc_class class, uint32_t handle)
{
	rvc_handles_lock();
	ru_idtable_free(&tables[class], handle);
	rvc_handles_unlock();
}

void *rvc_handle_get_locked(enum rvc_class class, const void *cookie)
{
	return ready ? ru_idtable_get(&tables[class],
				      (uint32_t)(uintptr_t)cookie) : NULL;
}

bool rvc_handle_is(enum rvc_class class, uint32_t handle, const void *object)
{
	bool is;

	rvc_handles_lock();
	is = rvc_handle_get_locked(class, rvc_cookie(handle)) == object;
	rvc_handles_unlock();
	return is;
}

/* Each of our structs begins with its context, as in the ABI. */
void *rvc_handle_take(enum rvc_class class, const struct ibv_context *context,
		      uint32_t *index)
{
	struct ibv_context **object = NULL;
	uint32_t handle;

	rvc_handles_lock();
	while (ready && (object = ru_idtable_next(&tables[class], index,
						  &handle)))
		if (*object == context) {
			ru_idtable_free(&tables[class], handle);
			break;
		}
	rvc_handles_unlock();
	return object;
}
