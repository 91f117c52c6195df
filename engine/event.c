/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events and doorbells; see event.h. */
#include <config.h>

#include "engine/event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/ctx.h"
#include "engine/process.h"
#include "engine/progress.h"
#include "util/fault.h"

struct event {
	struct ru_list link;
	struct rosm_async_event ev;
};

int rosm_bell_open(struct rosm_inst *inst, int pipe_out[2], uint32_t *bell_out)
{
	struct rosm_wire_ro *ro = inst->roh;
	struct stat st;
	uint32_t i;
	int rc;

	if (pipe2(pipe_out, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	if (fstat(pipe_out[1], &st)) {
		rc = -errno;
		goto close_pipe;
	}
	ru_lock_acquire(&inst->lock);
	for (i = 0; i < ROSM_WIRE_BELLS; i++)
		if (!atomic_load_explicit(&ro->bell_fd[i],
					  memory_order_relaxed))
			break;
	if (i < ROSM_WIRE_BELLS) {
		atomic_store_explicit(&ro->bell_ino[i], st.st_ino,
				      memory_order_relaxed);
		atomic_store_explicit(&ro->bell_fd[i],
				      (uint32_t)pipe_out[1] + 1,
				      memory_order_release);
	}
	ru_lock_release(&inst->lock);
	if (i == ROSM_WIRE_BELLS) {
		rc = -ENOSPC;
		goto close_pipe;
	}
	rosm_process_fd_add(pipe_out[0]);
	rosm_process_fd_add(pipe_out[1]);
	*bell_out = i + 1;
	return 0;

close_pipe:
	close(pipe_out[0]);
	close(pipe_out[1]);
	return rc;
}

void rosm_bell_close(struct rosm_inst *inst, int pipe[2], uint32_t bell)
{
	atomic_store_explicit(&inst->roh->bell_fd[bell - 1], 0,
			      memory_order_release);
	rosm_process_fd_close(pipe[0]);
	rosm_process_fd_close(pipe[1]);
}

void rosm_bell_drain(int read_fd)
{
	char buf[256];
	struct pollfd p = { .fd = read_fd, .events = POLLIN };

	/* the program may have made our end blocking: ask first */
	while (poll(&p, 1, 0) == 1 && (p.revents & POLLIN) &&
	       read(read_fd, buf, sizeof(buf)) == (ssize_t)sizeof(buf))
		;
}

void rosm_bell_ring(int write_fd)
{
	ssize_t n;

	do {
		n = write(write_fd, "", 1);
	} while (n < 0 && errno == EINTR);
	/* EAGAIN: it is full, hence awake */
}

int rosm_event_queue_init(struct rosm_event_queue *q, struct rosm_inst *inst)
{
	int rc, fl;

	q->inst = inst;
	ru_lock_init(&q->lock);
	ru_list_init(&q->events);
	rc = rosm_bell_open(inst, q->pipe, &q->bell);
	if (rc)
		return rc;
	/* programs expect a blocking fd until they say otherwise */
	fl = fcntl(q->pipe[0], F_GETFL);
	fcntl(q->pipe[0], F_SETFL, fl & ~O_NONBLOCK);
	return 0;
}

void rosm_event_queue_fini(struct rosm_event_queue *q)
{
	struct ru_list *l;

	while ((l = ru_list_pop_head(&q->events)))
		free(ru_list_entry(l, struct event, link));
	rosm_bell_close(q->inst, q->pipe, q->bell);
}

void rosm_event_push(struct rosm_event_queue *q, enum rosm_event_type type,
		     void *obj, void *cookie)
{
	struct event *e = RU_FAIL_POINT("event.alloc") ? NULL :
							 calloc(1, sizeof(*e));

	if (!e)
		return;		/* nothing can be told without memory */
	e->ev.type = type;
	e->ev.qp = obj;
	e->ev.cookie = cookie;
	ru_lock_acquire(&q->lock);
	ru_list_add_tail(&q->events, &e->link);
	ru_lock_release(&q->lock);
	rosm_bell_ring(q->pipe[1]);
}

void rosm_event_forget(struct rosm_event_queue *q, const void *obj)
{
	struct ru_list *l, *next;

	ru_lock_acquire(&q->lock);
	ru_list_for_each_safe(l, next, &q->events) {
		struct event *e = ru_list_entry(l, struct event, link);

		if (e->ev.qp != obj)
			continue;
		ru_list_del(l);
		free(e);
	}
	ru_lock_release(&q->lock);
}

/* Also keeps the fd readable exactly while an event waits. */
static bool pop(struct rosm_event_queue *q, struct rosm_async_event *ev_out)
{
	struct ru_list *l;
	bool more;

	ru_lock_acquire(&q->lock);
	l = ru_list_pop_head(&q->events);
	more = !ru_list_empty(&q->events);
	ru_lock_release(&q->lock);
	if (!l)
		return false;
	*ev_out = ru_list_entry(l, struct event, link)->ev;
	free(ru_list_entry(l, struct event, link));
	if (!more) {
		rosm_bell_drain(q->pipe[0]);
		ru_lock_acquire(&q->lock);
		more = !ru_list_empty(&q->events);
		ru_lock_release(&q->lock);
		if (more)
			rosm_bell_ring(q->pipe[1]);
	}
	return true;
}

int rosm_event_get(struct rosm_event_queue *q, struct rosm_async_event *ev_out)
{
	struct pollfd p = { .fd = q->pipe[0], .events = POLLIN };

	for (;;) {
		if (pop(q, ev_out))
			return 0;
		rosm_bell_drain(q->pipe[0]);
		rosm_progress(q->inst);
		if (pop(q, ev_out))
			return 0;
		if (fcntl(q->pipe[0], F_GETFL) & O_NONBLOCK)
			return -EAGAIN;
		if (poll(&p, 1, -1) < 0 && errno == EINTR)
			return -EINTR;
	}
}

int rosm_ctx_async_fd(struct rosm_ctx *ctx)
{
	return ctx->events.pipe[0];
}

int rosm_ctx_get_async(struct rosm_ctx *ctx, struct rosm_async_event *ev_out)
{
	return rosm_event_get(&ctx->events, ev_out);
}
