/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes that need other processes, and what all probes share.
 */
#ifndef ROSM_TOOLS_PROBE_PAIR_H
#define ROSM_TOOLS_PROBE_PAIR_H

#include "tools/probe.h"

void probe_say(struct probe_result *result, enum probe_verdict verdict,
	       const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void probe_cma_child(struct probe_result *r);
void probe_cma_parent(struct probe_result *r);
void probe_cma_sibling(struct probe_result *r);
void probe_fd_child(struct probe_result *r);
void probe_fd_sibling(struct probe_result *r);
void probe_pipe_sibling(struct probe_result *r);

/* probe_apart.c: two processes, one or both of them behind something. */
void probe_apart_dump(struct probe_result *r);
void probe_apart_user(struct probe_result *r);
void probe_apart_users(struct probe_result *r);
void probe_apart_pids(struct probe_result *r);
void probe_apart_nets(struct probe_result *r);

#endif
