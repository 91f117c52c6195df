/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Event queue: a list of events that the program itself writes or that
 * asynchronous insertions into an address vector leave. An eventfd counts
 * them for who sleeps; it is made for wait objects other than FI_WAIT_NONE.
 * One lock guards the list.
 */
#include <config.h>

#include "prov/rfi.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define EVENT_BYTES_MAX	4096

struct eq_event {
	struct ru_list link;
	uint32_t event;
	bool is_error;
	size_t len;
	uint8_t data[];
};

/* ---- putting -------------------------------------------------------- */

static void eq_wake(struct rfi_eq *eq)
{
	uint64_t one = 1;
	ssize_t n;

	if (eq->wake_fd < 0)
		return;
	do
		n = write(eq->wake_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

static void eq_unwake(struct rfi_eq *eq)
{
	uint64_t one;
	ssize_t n;

	if (eq->wake_fd < 0)
		return;
	do
		n = read(eq->wake_fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
}

static int eq_put(struct rfi_eq *eq, uint32_t event, bool is_error,
		  const void *buf, size_t len)
{
	struct eq_event *e = malloc(sizeof(*e) + len);

	if (!e)
		return -FI_ENOMEM;
	e->event = event;
	e->is_error = is_error;
	e->len = len;
	memcpy(e->data, buf, len);
	ru_lock_acquire(&eq->lock);
	ru_list_add_tail(&eq->events, &e->link);
	eq_wake(eq);
	ru_lock_release(&eq->lock);
	return 0;
}

int rfi_eq_post(struct rfi_eq *eq, uint32_t event, const void *buf, size_t len)
{
	return eq_put(eq, event, false, buf, len);
}

int rfi_eq_post_err(struct rfi_eq *eq, const struct fi_eq_err_entry *err)
{
	return eq_put(eq, 0, true, err, sizeof(*err));
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf,
			size_t len, uint64_t flags)
{
	struct rfi_eq *eq = ru_container_of(fid, struct rfi_eq, fid);
	int ret;

	if (flags)
		return -FI_EBADFLAGS;
	if (len > EVENT_BYTES_MAX)
		return -FI_EINVAL;
	ret = eq_put(eq, event, false, buf, len);
	return ret ? ret : (ssize_t)len;
}

/* ---- taking --------------------------------------------------------- */

static ssize_t eq_take_locked(struct rfi_eq *eq, uint32_t *event, void *buf,
			      size_t len, uint64_t flags)
{
	struct ru_list *l = ru_list_first(&eq->events);
	struct eq_event *e;
	ssize_t ret;

	if (!l)
		return -FI_EAGAIN;
	e = ru_list_entry(l, struct eq_event, link);
	if (e->is_error)
		return -FI_EAVAIL;
	if (len < e->len)
		return -FI_ETOOSMALL;
	if (event)
		*event = e->event;
	memcpy(buf, e->data, e->len);
	ret = (ssize_t)e->len;
	if (!(flags & FI_PEEK)) {
		ru_list_del(l);
		eq_unwake(eq);
		free(e);
	}
	return ret;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf,
		       size_t len, uint64_t flags)
{
	struct rfi_eq *eq = ru_container_of(fid, struct rfi_eq, fid);
	ssize_t ret;

	ru_lock_acquire(&eq->lock);
	ret = eq_take_locked(eq, event, buf, len, flags);
	ru_lock_release(&eq->lock);
	return ret;
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf,
			size_t len, int timeout_ms, uint64_t flags)
{
	struct rfi_eq *eq = ru_container_of(fid, struct rfi_eq, fid);
	struct pollfd pfd = { .fd = eq->wake_fd, .events = POLLIN };
	ssize_t ret;
	int n;

	if (eq->wait_obj == FI_WAIT_NONE)
		return -FI_EINVAL;
	for (;;) {
		ret = eq_read(fid, event, buf, len, flags);
		if (ret != -FI_EAGAIN)
			return ret;
		n = poll(&pfd, 1, timeout_ms);
		if (n < 0)
			return -errno;
		if (!n)
			return -FI_EAGAIN;
	}
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf,
			  uint64_t flags)
{
	struct rfi_eq *eq = ru_container_of(fid, struct rfi_eq, fid);
	struct eq_event *e = NULL;
	ssize_t ret = -FI_EAGAIN;
	struct ru_list *l;

	ru_lock_acquire(&eq->lock);
	l = ru_list_first(&eq->events);
	if (l)
		e = ru_list_entry(l, struct eq_event, link);
	if (e && e->is_error) {
		struct fi_eq_err_entry *err = (void *)e->data;

		*buf = *err;
		ret = sizeof(*buf);
		if (!(flags & FI_PEEK)) {
			ru_list_del(l);
			eq_unwake(eq);
			free(e);
		}
	}
	ru_lock_release(&eq->lock);
	return ret;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno,
			       const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(prov_errno < 0 ? -prov_errno :
							prov_errno);

	(void)fid;
	(void)err_data;
	if (buf && len)
		snprintf(buf, len, "%s", text);
	return text;
}

/* ---- object --------------------------------------------------------- */

static int eq_close(struct fid *fid)
{
	struct rfi_eq *eq = ru_container_of(fid, struct rfi_eq, fid.fid);
	struct ru_list *l;

	if (rfi_ref_busy(&eq->ref))
		return -FI_EBUSY;
	while ((l = ru_list_pop_head(&eq->events)))
		free(ru_list_entry(l, struct eq_event, link));
	if (eq->wake_fd >= 0)
		close(eq->wake_fd);
	rfi_ref_put(&eq->fabric->ref);
	free(eq);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct rfi_eq *eq = ru_container_of(fid, struct rfi_eq, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (eq->wait_obj == FI_WAIT_NONE)
			return -FI_ENODATA;
		*(int *)arg = eq->wake_fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = eq->wait_obj;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = rfi_nosys_bind,
	.control = eq_control,
	.ops_open = rfi_nosys_ops_open,
	.tostr = rfi_nosys_tostr,
	.ops_set = rfi_nosys_ops_set,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

int rfi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		struct fid_eq **out, void *context)
{
	enum fi_wait_obj wait_obj = attr ? attr->wait_obj : FI_WAIT_NONE;
	struct rfi_eq *eq;

	if (wait_obj == FI_WAIT_UNSPEC)
		wait_obj = FI_WAIT_FD;
	if (wait_obj != FI_WAIT_NONE && wait_obj != FI_WAIT_FD)
		return -FI_ENOSYS;
	if (attr && attr->flags & ~(uint64_t)(FI_WRITE | FI_AFFINITY))
		return -FI_EBADFLAGS;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	eq->wait_obj = wait_obj;
	eq->wake_fd = -1;
	if (wait_obj == FI_WAIT_FD) {
		eq->wake_fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK |
					 EFD_CLOEXEC);
		if (eq->wake_fd < 0) {
			free(eq);
			return -errno;
		}
	}
	ru_lock_init(&eq->lock);
	ru_list_init(&eq->events);
	eq->fabric = ru_container_of(fabric, struct rfi_fabric, fid);
	rfi_ref_get(&eq->fabric->ref);
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	*out = &eq->fid;
	return 0;
}
