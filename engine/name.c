/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of endpoints. As text:
 *
 *	rosm://NODE/WHO/QPN?gid=G&lid=L&port=P&qkey=K&srqn=S
 *
 * all hexadecimal, NODE and G of 32 digits; what follows the "?" may be left
 * out, as a whole. Printing and parsing give the same 64 bytes.
 */
#include <config.h>

#include "engine/name.h"

#include "engine/device.h"
#include "engine/rosm.h"
#include "engine/wire/common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(struct rosm_wire_name) == ROSM_NAME_BYTES, "one record");

#define SCHEME	"rosm://"

void rosm_name_make(const struct rosm_inst *inst, uint32_t qpn,
		    struct rosm_wire_name *name_out)
{
	struct rosm_port port;

	rosm_device_port_of(inst->dir, &port);
	*name_out = (struct rosm_wire_name){
		.magic = ROSM_WIRE_NAME_MAGIC,
		.version = ROSM_WIRE_NAME_VERSION,
		.who = inst->who,
		.qpn = qpn,
		.lid = port.lid,
		.port = 1,
	};
	memcpy(name_out->node, inst->dir->head->node_id,
	       sizeof(name_out->node));
	memcpy(name_out->gid, port.gid, sizeof(name_out->gid));
}

bool rosm_name_is_here(const struct rosm_inst *inst,
		       const struct rosm_wire_name *name)
{
	return !memcmp(name->node, inst->dir->head->node_id,
		       sizeof(name->node));
}

static bool name_good(const struct rosm_wire_name *n)
{
	return n->magic == ROSM_WIRE_NAME_MAGIC &&
	       n->version == ROSM_WIRE_NAME_VERSION && !n->flags &&
	       n->qpn < 1u << 24 && n->qpn > 1 && n->srqn < 1u << 24 &&
	       n->who <= ROSM_WIRE_WHO_MASK && rosm_wire_who_gen(n->who) &&
	       !n->reserved;
}

bool rosm_name_valid(const uint8_t *name, size_t len)
{
	struct rosm_wire_name n;

	if (len != sizeof(n))
		return false;
	memcpy(&n, name, sizeof(n));
	return name_good(&n);
}

static void put_hex(char *to, const uint8_t bytes[16])
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

/* Length of the text (as snprintf: it may not have fit), or -EINVAL. */
int rosm_name_print(const uint8_t name[ROSM_NAME_BYTES], char *buf, size_t len)
{
	struct rosm_wire_name n;
	char node[33], gid[33];

	memcpy(&n, name, sizeof(n));
	if (!name_good(&n))
		return -EINVAL;
	put_hex(node, n.node);
	put_hex(gid, n.gid);
	return snprintf(buf, len,
			SCHEME "%s/%" PRIx64 "/%x?gid=%s&lid=%x&port=%x"
			"&qkey=%x&srqn=%x",
			node, n.who, n.qpn, gid, n.lid, n.port, n.qkey,
			n.srqn);
}

/* ---- parsing: a cursor that stops at the first mismatch --------------- */

struct cursor {
	const char *at;
	bool bad;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void expect(struct cursor *c, const char *word)
{
	size_t n = strlen(word);

	if (c->bad || strncmp(c->at, word, n))
		c->bad = true;
	else
		c->at += n;
}

static uint64_t number(struct cursor *c, uint64_t max)
{
	uint64_t v = 0;
	int digits = 0, d;

	while (!c->bad && (d = hex_digit(*c->at)) >= 0) {
		v = v << 4 | (uint64_t)d;
		c->at++;
		if (++digits > 16 || v > max)
			c->bad = true;
	}
	if (!digits)
		c->bad = true;
	return v;
}

static void bytes16(struct cursor *c, uint8_t out[16])
{
	int i, hi, lo;

	for (i = 0; i < 16 && !c->bad; i++) {
		hi = hex_digit(c->at[0]);
		lo = hi < 0 ? -1 : hex_digit(c->at[1]);
		if (lo < 0) {
			c->bad = true;
			return;
		}
		out[i] = (uint8_t)(hi << 4 | lo);
		c->at += 2;
	}
}

static void parse_rest(struct cursor *c, struct rosm_wire_name *n)
{
	expect(c, "?gid=");
	bytes16(c, n->gid);
	expect(c, "&lid=");
	n->lid = (uint16_t)number(c, UINT16_MAX);
	expect(c, "&port=");
	n->port = (uint8_t)number(c, UINT8_MAX);
	expect(c, "&qkey=");
	n->qkey = (uint32_t)number(c, UINT32_MAX);
	expect(c, "&srqn=");
	n->srqn = (uint32_t)number(c, (1u << 24) - 1);
}

int rosm_name_parse(const char *str, uint8_t name_out[ROSM_NAME_BYTES])
{
	struct rosm_wire_name n = {
		.magic = ROSM_WIRE_NAME_MAGIC,
		.version = ROSM_WIRE_NAME_VERSION,
		.port = 1,
	};
	struct cursor c = { .at = str };

	expect(&c, SCHEME);
	bytes16(&c, n.node);
	expect(&c, "/");
	n.who = number(&c, ROSM_WIRE_WHO_MASK);
	expect(&c, "/");
	n.qpn = (uint32_t)number(&c, (1u << 24) - 1);
	if (!c.bad && *c.at)
		parse_rest(&c, &n);
	if (c.bad || *c.at || !name_good(&n))
		return -EINVAL;
	memcpy(name_out, &n, sizeof(n));
	return 0;
}
