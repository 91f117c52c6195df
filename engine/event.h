/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of one context: a queue behind a plain pipe (an epoll
 * fd would ignore O_ASYNC). The pipe is also a doorbell that peers ring when
 * they have found an error against a QP of this context; so a byte in it
 * means "look", not "one event".
 */
#ifndef ROSM_EVENT_H
#define ROSM_EVENT_H

#include "engine/rosm.h"
#include "util/list.h"
#include "util/lock.h"

struct rosm_inst;

struct rosm_event_queue {
	struct rosm_inst *inst;
	struct ru_lock lock;
	struct ru_list events;
	int pipe[2];		/* read end, write end */
	uint32_t bell;		/* index in the doorbell table + 1 */
};

int rosm_event_queue_init(struct rosm_event_queue *q, struct rosm_inst *inst);
void rosm_event_queue_fini(struct rosm_event_queue *q);
/* obj: the CQ or QP; cookie as its creator gave it. */
void rosm_event_push(struct rosm_event_queue *q, enum rosm_event_type type,
		     void *obj, void *cookie);
/* Events of an object that goes. */
void rosm_event_forget(struct rosm_event_queue *q, const void *obj);
/* As rosm_ctx_get_async. */
int rosm_event_get(struct rosm_event_queue *q,
		   struct rosm_async_event *ev_out);

/*
 * Doorbells: a pipe of this instance that peers can find and write through
 * /proc. *bell_out is its index + 1. -ENOSPC: all ROSM_WIRE_BELLS in use.
 */
int rosm_bell_open(struct rosm_inst *inst, int pipe_out[2], uint32_t *bell_out);
void rosm_bell_close(struct rosm_inst *inst, int pipe[2], uint32_t bell);
/* Read everything that lies in the pipe. */
void rosm_bell_drain(int read_fd);
void rosm_bell_ring(int write_fd);

#endif
