/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel and this user's rights let rosm do. Each verdict comes from
 * doing the thing once, not from a version or a sysctl; those only help to
 * explain a refusal. Probes may start short-lived children and leave nothing
 * behind. One thread.
 */
#ifndef ROSM_TOOLS_PROBE_H
#define ROSM_TOOLS_PROBE_H

enum probe_verdict {
	PROBE_YES,
	PROBE_LIMITED,		/* works, within what the reason says */
	PROBE_NO,
	PROBE_VERDICTS
};

struct probe_result {
	enum probe_verdict verdict;
	char reason[256];
};

struct probe {
	const char *name;
	void (*run)(struct probe_result *result_out);
	const char *without;	/* what rosm does when the verdict is no */
};

extern const struct probe probes[];
extern const unsigned probes_count;

#endif
