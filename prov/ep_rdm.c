/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine's side of an endpoint: making it at fi_enable, its peers, and
 * its progress, which turns the engine's events into completions.
 *
 * A peer is met when an address is first used, for a send or as the source of
 * a receive; ep->peers remembers it by fi_addr_t. The engine gives the same
 * peer for the same name and keeps it until the endpoint goes, so the pointer
 * serves as the source in matching. That way a message matches although its
 * sender's address was inserted later, or twice.
 */
#include <config.h>

#include "prov/ep.h"

#include <fcntl.h>
#include <stdlib.h>

#include "util/log.h"

/* Events handled in one progress, so that a flood lets the caller go on. */
#define PROGRESS_EVENTS	64
#define PEERS_FIRST	64
#define POOL_CHUNK	64
#define POOL_CHUNK_BIG	16

/* ---- enabling ------------------------------------------------------- */

static int rdm_channel_open(struct rfi_ep *ep)
{
	int fd, flags;

	if ((!ep->tx_cq || ep->tx_cq->wait_fd < 0) &&
	    (!ep->rx_cq || ep->rx_cq->wait_fd < 0))
		return 0;
	flags = rosm_channel_create(ep->domain->ctx, &ep->channel);
	if (flags)
		return flags;
	/* trywait empties it and must not block */
	fd = rosm_channel_fd(ep->channel);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
		return -errno;
	return 0;
}

static int rdm_rd_open(struct rfi_ep *ep)
{
	struct rosm_rd_init init = {
		.eager_bytes = (uint32_t)rfi_inject_size(),
		.channel = ep->channel,
		.cookie = ep,
	};
	const char *service = ep->has_src ? rfi_addr_service(ep->src) : NULL;
	int ret;

	ret = rosm_rd_create(ep->domain->pd, &init, &ep->rd);
	if (ret) {
		ep->rd = NULL;
		return ret;
	}
	if (!service)
		return 0;
	ret = rosm_rd_bind_service(ep->rd, service);
	if (ret)
		RU_INFO("ep", "service %s cannot be bound: %s", service,
			strerror(-ret));
	return ret;
}

static int rdm_pools_init(struct rfi_ep *ep)
{
	int ret;

	ep->eager_max = rosm_rd_eager_max(ep->rd);
	ep->inject_size = ru_min(rfi_inject_size(), rosm_rd_inject_max(ep->rd));
	ret = ru_pool_init(&ep->rx_pool, sizeof(struct rfi_rx), RU_CACHELINE,
			   POOL_CHUNK, 0);
	if (!ret)
		ret = ru_pool_init(&ep->tx_pool, sizeof(struct rfi_tx), 0,
				   POOL_CHUNK, 0);
	if (!ret)
		ret = ru_pool_init(&ep->bounce_pool,
				   ru_max(ep->inject_size, RU_CACHELINE),
				   RU_CACHELINE, POOL_CHUNK_BIG, 0);
	if (!ret)
		ret = ru_pool_init(&ep->unexp_pool, sizeof(struct rfi_unexp) +
				   RFI_UNEXP_SMALL, RU_CACHELINE, POOL_CHUNK,
				   0);
	if (!ret)
		ret = ru_pool_init(&ep->eager_pool, sizeof(struct rfi_unexp) +
				   ep->eager_max, RU_CACHELINE,
				   POOL_CHUNK_BIG, 0);
	if (!ret)
		ret = ru_pool_reserve(&ep->rx_pool, POOL_CHUNK);
	if (!ret)
		ret = ru_pool_reserve(&ep->tx_pool, POOL_CHUNK);
	return ret;
}

int rfi_rdm_enable(struct rfi_ep *ep)
{
	int ret;

	rfi_match_init(&ep->tagged);
	rfi_match_init(&ep->msg);
	ru_list_init(&ep->claimed);
	ret = rdm_channel_open(ep);
	if (!ret)
		ret = rdm_rd_open(ep);
	if (!ret)
		ret = rdm_pools_init(ep);
	if (ret)
		rfi_rdm_disable(ep);
	return ret;
}

void rfi_rdm_disable(struct rfi_ep *ep)
{
	uint64_t i;

	rfi_lock_acquire(&ep->lock);
	if (ep->rd) {
		rfi_unexp_drop_all_locked(ep);
		for (i = 0; i < ep->peer_count; i++)
			if (ep->peers[i])
				rosm_rd_peer_put(ep->rd, ep->peers[i]);
		rosm_rd_destroy(ep->rd);
		ep->rd = NULL;
	}
	if (ep->channel) {
		rosm_channel_destroy(ep->channel);
		ep->channel = NULL;
	}
	free(ep->dead);
	ep->dead = NULL;
	ep->dead_count = 0;
	free(ep->peers);
	ep->peers = NULL;
	ep->peer_count = 0;
	ep->tx_spare = NULL;
	rfi_match_fini(&ep->tagged);
	rfi_match_fini(&ep->msg);
	ru_pool_fini(&ep->rx_pool);
	ru_pool_fini(&ep->tx_pool);
	ru_pool_fini(&ep->bounce_pool);
	ru_pool_fini(&ep->unexp_pool);
	ru_pool_fini(&ep->eager_pool);
	rfi_lock_release(&ep->lock);
}

/* ---- peers ---------------------------------------------------------- */

static int peers_grow_locked(struct rfi_ep *ep, fi_addr_t addr)
{
	uint64_t count = ru_max(ep->peer_count, PEERS_FIRST), i;
	struct rosm_rd_peer **peers;

	while (count <= addr)
		count *= 2;
	peers = realloc(ep->peers, count * sizeof(*peers));
	if (!peers)
		return -FI_ENOMEM;
	for (i = ep->peer_count; i < count; i++)
		peers[i] = NULL;
	ep->peers = peers;
	ep->peer_count = count;
	return 0;
}

int rfi_ep_meet_locked(struct rfi_ep *ep, fi_addr_t addr,
		       struct rosm_rd_peer **peer_out)
{
	uint8_t record[ROSM_NAME_BYTES], name[ROSM_NAME_BYTES];
	const char *service;
	struct rosm_rd_peer *peer;
	int ret;

	ret = rfi_av_address(ep->av, addr, record);
	if (ret)
		return ret;
	service = rfi_addr_service(record);
	if (!service)
		memcpy(name, record, sizeof(name));
	else if (rosm_name_resolve(ep->domain->ctx, service, name))
		return -FI_EHOSTUNREACH;	/* it may come yet */
	if (addr >= ep->peer_count) {
		ret = peers_grow_locked(ep, addr);
		if (ret)
			return ret;
	}
	ret = rosm_rd_peer_get(ep->rd, name, &peer);
	if (ret)
		return ret;
	rosm_rd_peer_set_cookie(peer, addr);
	ep->peers[addr] = peer;
	*peer_out = peer;
	return 0;
}

fi_addr_t rfi_ep_source_locked(struct rfi_ep *ep, struct rosm_rd_peer *peer)
{
	uint8_t name[ROSM_NAME_BYTES];
	fi_addr_t addr;

	if (!(ep->caps & FI_SOURCE))
		return FI_ADDR_NOTAVAIL;
	addr = rosm_rd_peer_cookie(peer);
	if (ru_likely(addr != FI_ADDR_NOTAVAIL))
		return addr;
	rosm_rd_peer_name(peer, name);
	addr = rfi_av_find(ep->av, name);
	/* Met, so that its removal is noticed. */
	if (addr != FI_ADDR_NOTAVAIL && rfi_ep_peer_locked(ep, addr, &peer))
		return FI_ADDR_NOTAVAIL;
	return addr;
}

/* Where it is or belongs in the sorted array. */
static size_t dead_place(const struct rfi_ep *ep,
			 const struct rosm_rd_peer *peer)
{
	size_t low = 0, high = ep->dead_count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if ((uintptr_t)ep->dead[mid] < (uintptr_t)peer)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool rfi_ep_dead_locked(const struct rfi_ep *ep,
			const struct rosm_rd_peer *peer)
{
	size_t at = dead_place(ep, peer);

	return at < ep->dead_count && ep->dead[at] == peer;
}

void rfi_ep_dead_add_locked(struct rfi_ep *ep, struct rosm_rd_peer *peer)
{
	size_t at = dead_place(ep, peer);
	struct rosm_rd_peer **dead;

	if (rfi_ep_dead_locked(ep, peer))
		return;
	dead = realloc(ep->dead, (ep->dead_count + 1) * sizeof(*dead));
	if (!dead) {
		RU_WARN("ep", "no memory to remember a dead peer: later "
			"receives from it will wait");
		return;
	}
	memmove(dead + at + 1, dead + at, (ep->dead_count - at) * sizeof(*dead));
	dead[at] = peer;
	ep->dead = dead;
	ep->dead_count++;
}

void rfi_ep_forget(struct rfi_ep *ep, fi_addr_t addr)
{
	struct rosm_rd_peer *peer;

	rfi_lock_acquire(&ep->lock);
	peer = addr < ep->peer_count ? ep->peers[addr] : NULL;
	if (peer) {
		ep->peers[addr] = NULL;
		if (rosm_rd_peer_cookie(peer) == addr)
			rosm_rd_peer_set_cookie(peer, FI_ADDR_NOTAVAIL);
		rosm_rd_peer_put(ep->rd, peer);
	}
	rfi_lock_release(&ep->lock);
}

/* ---- progress ------------------------------------------------------- */

int rfi_ep_progress_locked(struct rfi_ep *ep)
{
	struct rosm_rd_event ev;
	int n;

	for (n = 0; n < PROGRESS_EVENTS && rosm_rd_poll(ep->rd, &ev);) {
		n++;
		switch (ev.type) {
		case ROSM_RD_EV_MSG:
			rfi_rdm_arrived_locked(ep, &ev);
			break;
		case ROSM_RD_EV_SENT:
		case ROSM_RD_EV_RMA_DONE:
			rfi_rdm_sent_locked(ep, ev.context, ev.status);
			break;
		case ROSM_RD_EV_PULLED:
			rfi_rdm_pulled_locked(ep, ev.context, ev.status);
			break;
		case ROSM_RD_EV_RMA_DATA:
			rfi_rdm_rma_data_locked(ep, &ev);
			break;
		case ROSM_RD_EV_PEER_DEAD:
			rfi_rdm_peer_dead_locked(ep, ev.peer);
			break;
		}
		if (!ep->burst) {
			ep->burst = true;
			return n;
		}
	}
	if (n < PROGRESS_EVENTS)
		ep->burst = false;
	return n;
}

void rfi_ep_progress(struct rfi_ep *ep)
{
	if (!rfi_lock_try(&ep->lock))
		return;
	if (ru_likely(ep->rd != NULL))
		rfi_ep_progress_locked(ep);
	rfi_lock_release(&ep->lock);
}

int rfi_ep_arm(struct rfi_ep *ep)
{
	void *cookie;
	int ret = 0;

	rfi_lock_acquire(&ep->lock);
	if (ep->rd && ep->channel) {
		while (!rosm_channel_get_event(ep->channel, &cookie))
			;
		ret = rosm_rd_arm(ep->rd);
		/* All that came before must be seen now: no bell tells of it. */
		while (!ret && rfi_ep_progress_locked(ep))
			;
	}
	rfi_lock_release(&ep->lock);
	return ret;
}
