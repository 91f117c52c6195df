/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services: words that an endpoint of this node can be found by. The
 * directory's table of names is keyed by 24 bits of a hash; the entry carries
 * 40 more bits of it and the QPN. Two words that share all 64 bits are taken
 * for one; two that share only the key cannot be bound at the same time.
 */
#include <config.h>

#include "engine/rd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ctx.h"
#include "engine/name.h"

struct service {
	struct ru_list link;		/* rd->services */
	uint32_t key;
};

/* FNV-1a, 64 bits, mixed once more. */
static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	h ^= h >> 29;
	return h * 0xbf58476d1ce4e5b9ull;
}

/* Never 0. */
static uint32_t key_of(uint64_t h)
{
	uint32_t key = (uint32_t)(h >> 40);

	return key ? key : 1;
}

static uint64_t aux_of(uint64_t h, uint32_t qpn)
{
	return h << 24 | qpn;
}

int rosm_rd_bind_service(struct rosm_rd *rd, const char *service)
{
	struct service *s;
	uint64_t h;
	int rc;

	if (!service || !*service)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	h = hash(service);
	s->key = key_of(h);
	rc = rosm_dir_insert(rd->inst->dir, ROSM_DIR_T_NAME, s->key,
			     rd->inst->who, aux_of(h, rd->qpn));
	if (rc) {
		free(s);
		return rc == -EEXIST ? -EADDRINUSE : rc;
	}
	ru_list_add_tail(&rd->services, &s->link);
	return 0;
}

int rosm_name_resolve(struct rosm_ctx *ctx, const char *service,
		      uint8_t name_out[ROSM_NAME_BYTES])
{
	struct rosm_wire_name n;
	uint64_t h, who, aux;

	if (!service || !*service)
		return -EINVAL;
	h = hash(service);
	if (rosm_dir_lookup(ctx->inst->dir, ROSM_DIR_T_NAME, key_of(h), &who,
			    &aux) ||
	    (aux ^ aux_of(h, 0)) >> 24)
		return -ENOENT;
	rosm_name_make(ctx->inst, (uint32_t)aux & 0xffffff, &n);
	n.who = who;
	memcpy(name_out, &n, sizeof(n));
	return 0;
}

void rosm_rd_services_free(struct rosm_rd *rd)
{
	struct ru_list *l;

	while ((l = ru_list_pop_head(&rd->services))) {
		struct service *s = ru_list_entry(l, struct service, link);

		rosm_dir_remove(rd->inst->dir, ROSM_DIR_T_NAME, s->key,
				rd->inst->who);
		free(s);
	}
}

static void name_of(const struct rosm_inst *inst, uint64_t who, uint32_t qpn,
		    uint8_t name_out[ROSM_NAME_BYTES])
{
	struct rosm_wire_name n;

	rosm_name_make(inst, qpn, &n);
	n.who = who;
	memcpy(name_out, &n, sizeof(n));
}

void rosm_rd_name(const struct rosm_rd *rd, uint8_t name_out[ROSM_NAME_BYTES])
{
	name_of(rd->inst, rd->inst->who, rd->qpn, name_out);
}

void rosm_rd_peer_name(const struct rosm_rd_peer *peer,
		       uint8_t name_out[ROSM_NAME_BYTES])
{
	if (peer->foreign)
		memcpy(name_out, peer->foreign, ROSM_NAME_BYTES);
	else
		name_of(peer->inst, peer->who, peer->qpn, name_out);
}
