/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A completion channel: one epoll fd over a doorbell pipe that peers write,
 * the pidfds of all peers (nested, inst->watch_fd) and a timer for the
 * deadlines of send queues that wait; so arrivals, deaths and time-outs wake a
 * sleeper without a helper thread. Nothing is written while nobody armed.
 */
#ifndef ROSM_CHANNEL_H
#define ROSM_CHANNEL_H

#include "engine/rosm.h"
#include "util/list.h"
#include "util/lock.h"

struct rosm_inst;

struct rosm_channel {
	struct ru_list link;	/* inst->channels */
	struct rosm_ctx *ctx;
	int epfd;
	int timerfd;
	int pipe[2];
	uint32_t bell;		/* index in the doorbell table + 1 */
	struct ru_lock lock;	/* sources, deadline_ns */
	struct ru_list sources;	/* CQs and RD endpoints that may fire */
	uint64_t deadline_ns;	/* what the timer stands at, 0 off */
};

/* What can fire: its ring's header carries the flags. */
struct rosm_fire {
	struct ru_list link;
	struct rosm_wire_ring *hdr;
	void *cookie;
};

void rosm_channel_attach(struct rosm_channel *ch, struct rosm_fire *f);
void rosm_channel_detach(struct rosm_channel *ch, struct rosm_fire *f);
/*
 * A peer that cannot open our doorbells rang by a connection, which this call
 * took: whose sleep it was for, wakes by his own bell. Takes inst->lock.
 */
void rosm_channels_wake(struct rosm_inst *inst);
/* Wake a sleeper at that time at the latest (CLOCK_MONOTONIC, ns). */
void rosm_channel_wake_at(struct rosm_channel *ch, uint64_t when_ns);

#endif
