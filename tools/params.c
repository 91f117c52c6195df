/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rosm params`: the table of util/params.c as text, or with --man as the
 * source of the section of rosm(7) that describes them.
 */
#include <config.h>

#include "tools/cmd.h"
#include "util/env.h"

#include <inttypes.h>
#include <string.h>

/* A size with the largest suffix that divides it. */
static void size_text(char *out, size_t len, int64_t bytes)
{
	static const char suffix[] = { 'G', 'M', 'K' };
	int i, shift = 30;

	for (i = 0; i < 3; i++, shift -= 10) {
		if (bytes && bytes % (INT64_C(1) << shift) == 0) {
			snprintf(out, len, "%" PRId64 "%c", bytes >> shift,
				 suffix[i]);
			return;
		}
	}
	snprintf(out, len, "%" PRId64, bytes);
}

static void range_text(char *out, size_t len, const struct ru_param *p)
{
	char low[32], high[32];
	size_t at = 0;
	int i;

	*out = '\0';
	switch (p->type) {
	case RU_PARAM_BOOL:
		snprintf(out, len, "0|1");
		break;
	case RU_PARAM_INT:
		snprintf(out, len, "%" PRId64 "..%" PRId64, p->min, p->max);
		break;
	case RU_PARAM_SIZE:
		size_text(low, sizeof(low), p->min);
		size_text(high, sizeof(high), p->max);
		snprintf(out, len, "%s..%s", low, high);
		break;
	case RU_PARAM_ENUM:
		for (i = 0; p->choices[i] && at < len; i++)
			at += (size_t)snprintf(out + at, len - at, "%s%s",
					       i ? "|" : "", p->choices[i]);
		break;
	default:
		snprintf(out, len, "up to %" PRId64 " bytes", p->max);
	}
}

static void print_plain(const struct ru_param *p)
{
	char range[256];
	bool alias = false;
	const char *raw = ru_param_raw(p, &alias);

	range_text(range, sizeof(range), p);
	printf("%s\n    type %s, default %s, range %s\n", p->name,
	       ru_param_type_name(p->type), *p->def ? p->def : "(empty)", range);
	if (raw)
		printf("    set here: %s%s=%s\n", alias ? "FI_" : "", p->name,
		       raw);
	printf("    %s\n", p->help);
}

/*
 * Text of man pages: a backslash, a dot or quote that begins a line, and each
 * sentence on a line of its own.
 */
static void print_roff(const char *text)
{
	char before = '\0';

	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; before = *text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == ' ' && before == '.')
			putchar('\n');
		else
			putchar(*text);
	}
}

static void print_man(const struct ru_param *p)
{
	char range[256];

	range_text(range, sizeof(range), p);
	printf(".It Ev %s\n", p->name);
	printf("Type %s, default ", ru_param_type_name(p->type));
	print_roff(*p->def ? p->def : "empty");
	printf(", range ");
	print_roff(range);
	printf(".\n");
	print_roff(p->help);
	putchar('\n');
}

int tool_params(int argc, char **argv)
{
	bool man = false;
	size_t i;

	for (int a = 1; a < argc; a++) {
		if (strcmp(argv[a], "--man"))
			return tool_usage_error("params", argv[a]);
		man = true;
	}
	for (i = 0; i < ru_params_count; i++) {
		if (man)
			print_man(&ru_params[i]);
		else
			print_plain(&ru_params[i]);
	}
	return tool_flush();
}
