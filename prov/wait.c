/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping until a completion queue has something. The fd of a queue is an
 * epoll fd over an eventfd and the channel of each bound endpoint, which the
 * engine makes readable when something arrives for an armed endpoint or a
 * peer dies.
 *
 * No wake-up is lost: trywait empties the eventfd and the channels, sets
 * `armed`, arms the endpoints, handles what has come, and only then looks
 * whether something is there. What comes later finds the endpoint armed. A
 * push by another thread reads `armed` while it holds the lock of the ring:
 * either the look comes after it and sees the entry, or it comes after the
 * look and sees `armed`.
 */
#include <config.h>

#include "prov/cq.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "prov/ep.h"
#include "util/clock.h"

/* How long to poll before a sleep; a wake-up costs 5 to 25 us. */
#define SPIN_NS		UINT64_C(20000)
/* The longest sleep between two looks, and the nap without a wait object. */
#define SLICE_MS	200
#define NAP_NS		50000
#define NS_PER_MS	UINT64_C(1000000)

int rfi_cq_wait_init(struct rfi_cq *cq, enum fi_wait_obj wait_obj)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ret;

	cq->wake_fd = -1;
	cq->wait_fd = -1;
	if (wait_obj == FI_WAIT_UNSPEC)
		wait_obj = FI_WAIT_FD;
	cq->wait_obj = wait_obj;
	if (wait_obj == FI_WAIT_NONE)
		return 0;
	if (wait_obj != FI_WAIT_FD)
		return -FI_ENOSYS;
	cq->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (cq->wake_fd < 0)
		return -errno;
	cq->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	if (cq->wait_fd >= 0 &&
	    !epoll_ctl(cq->wait_fd, EPOLL_CTL_ADD, cq->wake_fd, &ev))
		return 0;
	ret = -errno;
	rfi_cq_wait_fini(cq);
	return ret;
}

void rfi_cq_wait_fini(struct rfi_cq *cq)
{
	if (cq->wait_fd >= 0)
		close(cq->wait_fd);
	if (cq->wake_fd >= 0)
		close(cq->wake_fd);
}

int rfi_cq_wait_add(struct rfi_cq *cq, int channel_fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (cq->wait_fd < 0)
		return 0;
	if (epoll_ctl(cq->wait_fd, EPOLL_CTL_ADD, channel_fd, &ev))
		return -errno;
	return 0;
}

void rfi_cq_wait_del(struct rfi_cq *cq, int channel_fd)
{
	if (cq->wait_fd >= 0)
		(void)epoll_ctl(cq->wait_fd, EPOLL_CTL_DEL, channel_fd, NULL);
}

void rfi_cq_wake(struct rfi_cq *cq)
{
	uint64_t one = 1;

	if (cq->wake_fd >= 0 && write(cq->wake_fd, &one, sizeof(one)) < 0)
		return;		/* EAGAIN: it is awake many times over */
}

int rfi_cq_trywait(struct rfi_cq *cq)
{
	struct ru_list *l;
	uint64_t count;
	int ret = 0;

	atomic_store_explicit(&cq->armed, false, memory_order_relaxed);
	if (cq->wake_fd >= 0 && read(cq->wake_fd, &count, sizeof(count)) < 0 &&
	    errno != EAGAIN)
		return -errno;
	if (!rfi_cq_empty(cq))
		return -FI_EAGAIN;
	/* Ordered by the lock of the ring that the look below takes. */
	atomic_store_explicit(&cq->armed, true, memory_order_relaxed);
	rfi_lock_acquire(&cq->eps_lock);
	ru_list_for_each(l, &cq->eps) {
		ret = rfi_ep_arm(ru_list_entry(l, struct rfi_cq_link, link)->ep);
		if (ret)
			break;
	}
	rfi_lock_release(&cq->eps_lock);
	if (ret)
		return ret;
	if (rfi_cq_empty(cq) &&
	    !atomic_load_explicit(&cq->signaled, memory_order_acquire))
		return 0;
	atomic_store_explicit(&cq->armed, false, memory_order_relaxed);
	return -FI_EAGAIN;
}

int rfi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int i, ret;

	(void)fabric;
	for (i = 0; i < count; i++) {
		switch (fids[i]->fclass) {
		case FI_CLASS_CQ: {
			struct rfi_cq *cq = ru_container_of(fids[i],
						struct rfi_cq, fid.fid);

			if (cq->wait_fd < 0)
				return -FI_EINVAL;
			ret = rfi_cq_trywait(cq);
			break;
		}
		case FI_CLASS_EQ: {
			struct rfi_eq *eq = ru_container_of(fids[i],
						struct rfi_eq, fid.fid);

			ru_lock_acquire(&eq->lock);
			ret = ru_list_empty(&eq->events) ? 0 : -FI_EAGAIN;
			ru_lock_release(&eq->lock);
			break;
		}
		default:
			return -FI_EINVAL;
		}
		if (ret)
			return ret;
	}
	return 0;
}

static int cq_nap(void)
{
	struct timespec nap = { .tv_nsec = NAP_NS };

	return nanosleep(&nap, NULL) ? -errno : 0;
}

/* One sleep; returns early when there may be something. */
static int cq_sleep(struct rfi_cq *cq, uint64_t left_ns)
{
	struct pollfd pfd = { .fd = cq->wait_fd, .events = POLLIN };
	uint64_t ms = left_ns / NS_PER_MS + 1;
	int ret;

	if (cq->wait_fd < 0)
		return cq_nap();
	ret = rfi_cq_trywait(cq);
	if (ret)
		return ret == -FI_EAGAIN ? 0 : ret;
	if (poll(&pfd, 1, (int)ru_min(ms, SLICE_MS)) < 0)
		ret = -errno;
	atomic_store_explicit(&cq->armed, false, memory_order_relaxed);
	return ret;
}

int rfi_cq_wait(struct rfi_cq *cq, uint32_t want, int timeout_ms)
{
	uint64_t start = ru_clock_ns(), now = start;
	uint64_t limit = timeout_ms < 0 ? UINT64_MAX :
				(uint64_t)timeout_ms * NS_PER_MS;
	int ret;

	for (;;) {
		rfi_cq_progress(cq);
		if (rfi_cq_count(cq) >= want)
			return 0;
		if (atomic_exchange_explicit(&cq->signaled, false,
					     memory_order_acq_rel))
			return -FI_EAGAIN;
		now = ru_clock_ns();
		if (now - start >= limit)
			return -FI_EAGAIN;
		if (now - start < SPIN_NS) {
			ru_pause();
			continue;
		}
		if (rfi_cq_empty(cq))
			ret = cq_sleep(cq, limit - (now - start));
		else
			ret = cq_nap();
		if (ret)
			return ret;
		rosm_ctx_progress(cq->domain->ctx);
	}
}

int rfi_cq_signal(struct fid_cq *fid)
{
	struct rfi_cq *cq = ru_container_of(fid, struct rfi_cq, fid);

	atomic_store_explicit(&cq->signaled, true, memory_order_release);
	rfi_cq_wake(cq);
	return 0;
}
