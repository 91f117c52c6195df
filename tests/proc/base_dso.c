/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shared object with an engine copy of its own, as the two faces are: built
 * twice, loaded by base_copies.
 */
#include <config.h>

#include "engine/inst.h"
#include "engine/peer.h"
#include "engine/process.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct rosm_process *dso_process(void);
EXPORT int dso_open(struct rosm_inst **inst_out);
EXPORT void dso_close(struct rosm_inst *inst);
EXPORT struct rosm_inst *dso_current(void);
EXPORT int dso_peer(struct rosm_inst *inst, uint64_t who,
		    struct rosm_peer **peer_out);
EXPORT int dso_dead(struct rosm_peer *peer);

struct rosm_process *dso_process(void)
{
	return rosm_process_get();
}

int dso_open(struct rosm_inst **inst_out)
{
	return rosm_inst_get(inst_out);
}

void dso_close(struct rosm_inst *inst)
{
	rosm_inst_put(inst);
}

struct rosm_inst *dso_current(void)
{
	return rosm_inst_current();
}

int dso_peer(struct rosm_inst *inst, uint64_t who, struct rosm_peer **peer_out)
{
	return rosm_peer_get(inst, who, peer_out);
}

int dso_dead(struct rosm_peer *peer)
{
	return rosm_peer_is_dead(peer);
}
