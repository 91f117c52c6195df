/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of endpoints: text and back, and what is no name. */
#include <config.h>

#include "engine/name.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "engine/rosm.h"

#define NODE	"00112233445566778899aabbccddeeff"

static struct rosm_wire_name sample(void)
{
	struct rosm_wire_name n = {
		.magic = ROSM_WIRE_NAME_MAGIC,
		.version = ROSM_WIRE_NAME_VERSION,
		.who = rosm_wire_who(17, 0xabcdef),
		.qpn = 0xfedcba,
		.srqn = 0x10203,
		.lid = 0x1234,
		.port = 1,
		.qkey = 0x80010000,
	};
	unsigned int i;

	for (i = 0; i < 16; i++) {
		n.node[i] = (uint8_t)(i * 17);
		n.gid[i] = (uint8_t)(255 - i);
	}
	return n;
}

static void a_name_survives_printing(void **state)
{
	struct rosm_wire_name n = sample();
	uint8_t raw[ROSM_NAME_BYTES], back[ROSM_NAME_BYTES];
	char text[ROSM_NAME_STR_MAX], cut[20];
	int len;

	(void)state;
	memcpy(raw, &n, sizeof(raw));
	assert_true(rosm_name_valid(raw, sizeof(raw)));
	len = rosm_name_print(raw, text, sizeof(text));
	assert_in_range(len, 1, sizeof(text) - 1);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(text, "rosm://" NODE "/", 40);
	assert_int_equal(rosm_name_parse(text, back), 0);
	assert_memory_equal(raw, back, sizeof(raw));
	assert_int_equal(rosm_name_print(raw, cut, sizeof(cut)), len);
	assert_int_equal(strlen(cut), sizeof(cut) - 1);
}

static void what_follows_the_qpn_may_be_left_out(void **state)
{
	uint8_t raw[ROSM_NAME_BYTES];
	struct rosm_wire_name n;

	(void)state;
	assert_int_equal(rosm_name_parse("rosm://" NODE "/1002/2a", raw), 0);
	memcpy(&n, raw, sizeof(n));
	assert_int_equal(n.qpn, 0x2a);
	assert_int_equal(n.who, rosm_wire_who(2, 1));
	assert_int_equal(n.port, 1);
}

static void what_is_no_name_does_not_parse(void **state)
{
	static const char *const bad[] = {
		"", "rosm://", "rosm:/" NODE "/1002/2a", "rosm://" NODE,
		"rosm://" NODE "/1002", "rosm://" NODE "/1002/",
		"rosm://" NODE "/1002/2a ", "rosm://" NODE "/1002/2a?",
		"rosm://" NODE "/1002/1000000",		/* 25 bits */
		"rosm://" NODE "/1002/1",		/* QPN 1 */
		"rosm://" NODE "/002/2a",		/* generation 0 */
		"rosm://" NODE "/10000000000/2a",	/* 41 bits */
		"rosm://" NODE "0/1002/2a", "rosm://0/1002/2a",
		"rosm://" NODE "/1002/2a?gid=" NODE "&lid=12345&port=1&qkey=0&srqn=0",
		"rosm://" NODE "/1002/2a?gid=" NODE "&lid=1&port=1&qkey=0&srqn=0&",
		"localhost", "rosm://" NODE "/g/2a",
		"rosm://" NODE "/1002/00000000000000000000000000002a",
	};
	uint8_t raw[ROSM_NAME_BYTES], untouched[ROSM_NAME_BYTES];
	size_t i;

	(void)state;
	memset(raw, 0x5a, sizeof(raw));
	memset(untouched, 0x5a, sizeof(untouched));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (rosm_name_parse(bad[i], raw) != -EINVAL)
			fail_msg("'%s' was taken for a name", bad[i]);
	assert_memory_equal(raw, untouched, sizeof(raw));
}

static void a_changed_record_is_no_name(void **state)
{
	struct rosm_wire_name n = sample();
	uint8_t raw[ROSM_NAME_BYTES];
	char text[ROSM_NAME_STR_MAX];

	(void)state;
	memcpy(raw, &n, sizeof(raw));
	assert_false(rosm_name_valid(raw, sizeof(raw) - 1));
	raw[0] ^= 1;
	assert_false(rosm_name_valid(raw, sizeof(raw)));
	assert_int_equal(rosm_name_print(raw, text, sizeof(text)), -EINVAL);
	n.version++;
	memcpy(raw, &n, sizeof(raw));
	assert_false(rosm_name_valid(raw, sizeof(raw)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_survives_printing),
		cmocka_unit_test(what_follows_the_qpn_may_be_left_out),
		cmocka_unit_test(what_is_no_name_does_not_parse),
		cmocka_unit_test(a_changed_record_is_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
