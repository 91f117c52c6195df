/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rosm stat`: what the live processes of this user's directory have moved,
 * by peer and mover, and what those that ended had moved. It looks at the
 * segments of others without making an instance of its own, so that looking
 * changes nothing.
 */
#include <config.h>

#include "tools/cmd.h"
#include "engine/rosm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ENDED_MAX = 64 };

static void print_head(void)
{
	printf("%9s %9s %-5s %-8s %-4s %20s %14s\n", "PID", "PEER", "PATH",
	       "MOVER", "WAY", "BYTES", "OPERATIONS");
}

static void print_row(const struct rosm_stat_peer *sp, int mover,
		      const char *way, uint64_t bytes, uint64_t ops)
{
	printf("%9" PRIu32 " %9" PRIu32 " %-5s %-8s %-4s %20" PRIu64
	       " %14" PRIu64 "\n",
	       sp->pid, sp->peer_pid, "shm", rosm_stat_mover_names[mover], way,
	       bytes, ops);
}

struct count {
	unsigned rows;
};

static void print_peer(void *arg, const struct rosm_stat_peer *sp)
{
	struct count *count = arg;
	int m;

	for (m = 0; m < ROSM_STAT_MOVERS; m++) {
		if (sp->tx_ops[m])
			print_row(sp, m, "tx", sp->tx_bytes[m], sp->tx_ops[m]);
		if (sp->rx_ops[m])
			print_row(sp, m, "rx", sp->rx_bytes[m], sp->rx_ops[m]);
		count->rows += !!sp->tx_ops[m] + !!sp->rx_ops[m];
	}
}

/* Sums over the processes that ended in order; a comment to the table. */
static int print_totals(void)
{
	struct rosm_stat_ended sum;
	uint64_t count;
	int m, err = rosm_stat_totals(&sum, &count);

	if (err) {
		tool_say("stat: %s", strerror(-err));
		return TOOL_FAILED;
	}
	printf("# sent by %" PRIu64 " processes that ended in order:", count);
	for (m = 0; m < ROSM_STAT_MOVERS; m++)
		if (sum.ops[m])
			printf(" %s %" PRIu64 " bytes in %" PRIu64 ",",
			       rosm_stat_mover_names[m], sum.bytes[m],
			       sum.ops[m]);
	for (m = 1; m < ROSM_STAT_MOVERS; m++) {
		sum.bytes[0] += sum.bytes[m];
		sum.ops[0] += sum.ops[m];
	}
	printf(" all %" PRIu64 " bytes in %" PRIu64 "\n", sum.bytes[0],
	       sum.ops[0]);
	return TOOL_OK;
}

static int stat_live(uint32_t pid)
{
	struct count count = { 0 };
	int err;

	print_head();
	err = rosm_stat_live(pid, print_peer, &count);
	if (err) {
		tool_say("stat: %s", strerror(-err));
		return TOOL_FAILED;
	}
	if (pid && !count.rows) {
		tool_say("stat: process %" PRIu32 " has moved nothing with "
			 "rosm, or is not one of yours", pid);
		return TOOL_FAILED;
	}
	return pid ? TOOL_OK : print_totals();
}

/* The last that ended, newest first, with the names of their programs. */
static int stat_ended(void)
{
	static struct rosm_stat_ended ended[ENDED_MAX];
	int i, m, n = rosm_stat_ended(ended, ENDED_MAX);

	if (n < 0) {
		tool_say("stat: %s", strerror(-n));
		return TOOL_FAILED;
	}
	printf("%9s %-15s %-8s %20s %14s\n", "PID", "PROGRAM", "MOVER",
	       "BYTES SENT", "OPERATIONS");
	for (i = 0; i < n; i++)
		for (m = 0; m < ROSM_STAT_MOVERS; m++)
			if (ended[i].ops[m])
				printf("%9" PRIu32 " %-15s %-8s %20" PRIu64
				       " %14" PRIu64 "\n",
				       ended[i].pid, ended[i].comm,
				       rosm_stat_mover_names[m],
				       ended[i].bytes[m], ended[i].ops[m]);
	return print_totals();
}

/* A PID, or 0 for what is none. */
static uint32_t parse_pid(const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

int tool_stat(int argc, char **argv)
{
	bool ended = false;
	uint32_t pid = 0;
	int i, status;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--ended")) {
			ended = true;
			continue;
		}
		if (!pid)
			pid = parse_pid(argv[i]);
		else
			pid = 0;
		if (!pid)
			return tool_usage_error("stat", argv[i]);
	}
	if (ended && pid)
		return tool_usage_error("stat", "--ended");
	status = ended ? stat_ended() : stat_live(pid);
	return status ? status : tool_flush();
}
