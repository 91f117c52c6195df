/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two of these move a known number of messages and then stay alive until
 * their standard input ends, for tests of what the command sees from outside.
 *
 *	mover recv COUNT		prints its name, takes COUNT messages
 *	mover send COUNT BYTES NAME	sends them
 *
 * Each prints "ready" when it is done moving.
 */
#include <config.h>

#include "engine/rosm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char data[1 << 20];
static char into[1 << 20];

static void die(const char *what, int err)
{
	fprintf(stderr, "mover: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void say(const char *line)
{
	printf("%s\n", line);
	fflush(stdout);
}

/* Until an operation that was pending is over. */
static void wait_event(struct rosm_rd *rd, enum rosm_rd_event_type type)
{
	struct rosm_rd_event ev;

	for (;;) {
		if (!rosm_rd_poll(rd, &ev))
			continue;
		if (ev.type == type && ev.status)
			die("event", ev.status);
		if (ev.type == type)
			return;
	}
}

static void take_one(struct rosm_rd *rd)
{
	struct iovec iov = { into, sizeof(into) };
	struct rosm_rd_event ev;
	int rc;

	do {
		while (!rosm_rd_poll(rd, &ev))
			continue;
	} while (ev.type != ROSM_RD_EV_MSG);
	if (ev.payload) {
		rosm_rd_release(rd, &ev);
		return;
	}
	rc = rosm_rd_pull(rd, ev.peer, &ev.token, ev.len, &iov, 1, NULL);
	if (rc < 0)
		die("pull", rc);
	if (rc == ROSM_RD_PENDING)
		wait_event(rd, ROSM_RD_EV_PULLED);
}

static void receive(struct rosm_rd *rd, long count)
{
	uint8_t name[ROSM_NAME_BYTES];
	char text[ROSM_NAME_STR_MAX];

	rosm_rd_name(rd, name);
	rosm_name_print(name, text, sizeof(text));
	say(text);
	while (count--)
		take_one(rd);
}

static void send_all(struct rosm_rd *rd, long count, size_t len,
		     const char *text)
{
	struct iovec iov = { data, len };
	struct rosm_rd_msg msg = { .iov = &iov, .iov_count = 1 };
	uint8_t name[ROSM_NAME_BYTES];
	struct rosm_rd_event ev;
	struct rosm_rd_peer *peer;
	int rc = rosm_name_parse(text, name);

	if (!rc)
		rc = rosm_rd_peer_get(rd, name, &peer);
	if (rc)
		die(text, rc);
	while (count--) {
		while ((rc = rosm_rd_send(rd, peer, &msg)) == -EAGAIN)
			rosm_rd_poll(rd, &ev);
		if (rc < 0)
			die("send", rc);
		if (rc == ROSM_RD_PENDING)
			wait_event(rd, ROSM_RD_EV_SENT);
	}
	rosm_rd_peer_put(rd, peer);
}

int main(int argc, char **argv)
{
	struct rosm_rd_init init = { .slots = 64, .eager_bytes = 8192 };
	struct rosm_ctx *ctx;
	struct rosm_pd *pd;
	struct rosm_rd *rd;
	char c;
	int rc;

	rc = rosm_ctx_open(&ctx);
	if (!rc)
		rc = rosm_pd_alloc(ctx, &pd);
	if (!rc)
		rc = rosm_rd_create(pd, &init, &rd);
	if (rc)
		die("set up", rc);
	if (argc == 3 && !strcmp(argv[1], "recv"))
		receive(rd, atol(argv[2]));
	else if (argc == 5 && !strcmp(argv[1], "send"))
		send_all(rd, atol(argv[2]), (size_t)atol(argv[3]), argv[4]);
	else
		die("arguments", -EINVAL);
	say("ready");
	while (read(STDIN_FILENO, &c, 1) > 0)
		continue;
	rc = rosm_rd_destroy(rd);
	if (!rc)
		rc = rosm_pd_free(pd);
	if (!rc)
		rc = rosm_ctx_close(ctx);
	if (rc)
		die("tear down", rc);
	return 0;
}
