/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels; see channel.h.
 *
 * No wake-up is lost: a producer sets fired, then writes the doorbell; the
 * consumer reads the doorbell empty, then looks at every fired flag (A-fired).
 * Whichever comes first, either the flag is seen or the byte stays. If a
 * producer dies between disarming and firing, its death makes the fd readable
 * (pidfd) and the reaper fires in its place.
 */
#include <config.h>

#include "engine/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/ctx.h"
#include "engine/event.h"
#include "engine/process.h"
#include "engine/progress.h"
#include "engine/wire/ring.h"
#include "util/clock.h"
#include "util/fault.h"

#define BLIND_MS	250	/* between looks at peers without a pidfd */

static int watch(int epfd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	return fd < 0 || !epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) ? 0 : -errno;
}

int rosm_channel_create(struct rosm_ctx *ctx, struct rosm_channel **ch_out)
{
	struct rosm_channel *ch;
	int rc;

	ch = RU_FAIL_POINT("channel.alloc") ? NULL : calloc(1, sizeof(*ch));
	if (!ch)
		return -ENOMEM;
	ch->ctx = ctx;
	ru_lock_init(&ch->lock);
	ru_list_init(&ch->sources);
	rc = rosm_bell_open(ctx->inst, ch->pipe, &ch->bell);
	if (rc)
		goto free_channel;
	ch->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (ch->epfd < 0) {
		rc = -errno;
		goto close_bell;
	}
	ch->timerfd = timerfd_create(CLOCK_MONOTONIC,
				     TFD_CLOEXEC | TFD_NONBLOCK);
	if (ch->timerfd < 0) {
		rc = -errno;
		goto close_epoll;
	}
	rc = watch(ch->epfd, ch->pipe[0]);
	if (!rc)
		rc = watch(ch->epfd, ch->timerfd);
	if (!rc)
		rc = watch(ch->epfd, ctx->inst->watch_fd);
	if (rc)
		goto close_timer;
	rosm_process_fd_add(ch->epfd);
	rosm_process_fd_add(ch->timerfd);
	rosm_ctx_hold(ctx);
	ru_lock_acquire(&ctx->inst->lock);
	ru_list_add_tail(&ctx->inst->channels, &ch->link);
	ru_lock_release(&ctx->inst->lock);
	*ch_out = ch;
	return 0;

close_timer:
	close(ch->timerfd);
close_epoll:
	close(ch->epfd);
close_bell:
	rosm_bell_close(ctx->inst, ch->pipe, ch->bell);
free_channel:
	free(ch);
	return rc;
}

int rosm_channel_destroy(struct rosm_channel *ch)
{
	bool busy;

	ru_lock_acquire(&ch->lock);
	busy = !ru_list_empty(&ch->sources);
	ru_lock_release(&ch->lock);
	if (busy)
		return -EBUSY;
	ru_lock_acquire(&ch->ctx->inst->lock);
	ru_list_del(&ch->link);
	ru_lock_release(&ch->ctx->inst->lock);
	rosm_process_fd_close(ch->timerfd);
	rosm_process_fd_close(ch->epfd);
	rosm_bell_close(ch->ctx->inst, ch->pipe, ch->bell);
	rosm_ctx_drop(ch->ctx);
	free(ch);
	return 0;
}

int rosm_channel_fd(const struct rosm_channel *ch)
{
	return ch->epfd;
}

void rosm_channel_attach(struct rosm_channel *ch, struct rosm_fire *f)
{
	ru_lock_acquire(&ch->lock);
	ru_list_add_tail(&ch->sources, &f->link);
	ru_lock_release(&ch->lock);
}

void rosm_channel_detach(struct rosm_channel *ch, struct rosm_fire *f)
{
	ru_lock_acquire(&ch->lock);
	ru_list_del(&f->link);
	ru_lock_release(&ch->lock);
}

void rosm_channel_wake_at(struct rosm_channel *ch, uint64_t when_ns)
{
	struct itimerspec t = {
		.it_value = {
			.tv_sec = (time_t)(when_ns / 1000000000u),
			.tv_nsec = (long)(when_ns % 1000000000u),
		},
	};

	ru_lock_acquire(&ch->lock);
	if (!ch->deadline_ns || when_ns < ch->deadline_ns) {
		ch->deadline_ns = when_ns;
		timerfd_settime(ch->timerfd, TFD_TIMER_ABSTIME, &t, NULL);
	}
	ru_lock_release(&ch->lock);
}

/*
 * The next source that fired, round robin; leaves the fd readable exactly
 * while another one waits.
 */
static bool pop(struct rosm_channel *ch, void **cookie_out)
{
	struct ru_list *l, *next;
	struct rosm_fire *found = NULL;
	bool more = false;

	ru_lock_acquire(&ch->lock);
	ru_list_for_each_safe(l, next, &ch->sources) {
		struct rosm_fire *f = ru_list_entry(l, struct rosm_fire, link);

		/* A-fired: pairs with R-fired in ring.c */
		if (!atomic_load_explicit(&f->hdr->fired,
					  memory_order_acquire))
			continue;
		if (found) {
			more = true;
			break;
		}
		if (atomic_exchange_explicit(&f->hdr->fired, 0,
					     memory_order_acq_rel))
			found = f;
	}
	if (found) {
		*cookie_out = found->cookie;
		ru_list_del(&found->link);
		ru_list_add_tail(&ch->sources, &found->link);
	}
	ru_lock_release(&ch->lock);
	if (more)
		rosm_bell_ring(ch->pipe[1]);
	return found;
}

static bool has_fired(struct rosm_channel *ch)
{
	struct ru_list *l;
	bool fired = false;

	ru_lock_acquire(&ch->lock);
	ru_list_for_each(l, &ch->sources)
		/* A-fired: pairs with R-fired in ring.c */
		fired = fired ||
			atomic_load_explicit(
				&ru_list_entry(l, struct rosm_fire, link)
					 ->hdr->fired,
				memory_order_acquire);
	ru_lock_release(&ch->lock);
	return fired;
}

void rosm_channels_wake(struct rosm_inst *inst)
{
	struct rosm_channel *ch;
	struct ru_list *l;

	ru_lock_acquire(&inst->lock);
	ru_list_for_each(l, &inst->channels) {
		ch = ru_list_entry(l, struct rosm_channel, link);
		if (has_fired(ch))
			rosm_bell_ring(ch->pipe[1]);
	}
	ru_lock_release(&inst->lock);
}

static void quiet(struct rosm_channel *ch)
{
	uint64_t ticks;

	rosm_bell_drain(ch->pipe[0]);
	ru_lock_acquire(&ch->lock);
	if (ch->deadline_ns && ch->deadline_ns <= ru_clock_ns()) {
		ch->deadline_ns = 0;
		if (read(ch->timerfd, &ticks, sizeof(ticks)) < 0)
			ticks = 0;	/* EAGAIN: just before it fires */
	}
	ru_lock_release(&ch->lock);
}

/*
 * Without membarrier we cannot make a peer's post see that we wait for it, and
 * without its pidfd a death wakes nobody: look again from time to time.
 */
static int sleep_ms(struct rosm_inst *inst)
{
	if (!inst->self->fenced && atomic_load(&inst->busy_count))
		return 10;
	return atomic_load_explicit(&inst->blind, memory_order_relaxed) ?
		       BLIND_MS : -1;
}

int rosm_channel_get_event(struct rosm_channel *ch, void **cq_cookie_out)
{
	struct rosm_inst *inst = ch->ctx->inst;
	struct pollfd p = { .fd = ch->epfd, .events = POLLIN };
	unsigned int steps;

	for (;;) {
		quiet(ch);
		if (pop(ch, cq_cookie_out))
			return 0;
		rosm_peers_watch_now(inst);
		steps = atomic_load_explicit(&inst->bounce_steps,
					     memory_order_relaxed);
		rosm_progress(inst);
		if (pop(ch, cq_cookie_out))
			return 0;
		if (fcntl(ch->epfd, F_GETFL) & O_NONBLOCK)
			return -EAGAIN;
		/* a copy that needs both sides goes on: do not sleep yet */
		if (steps != atomic_load_explicit(&inst->bounce_steps,
						  memory_order_relaxed))
			continue;
		if (poll(&p, 1, sleep_ms(inst)) < 0 && errno == EINTR)
			return -EINTR;
	}
}
