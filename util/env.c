/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading of parameters: see env.h. The only state is a bit per parameter
 * that says whether its bad value was complained about. Programs that run
 * with raised privilege (setuid, file capabilities) get the defaults: their
 * caller's environment is not trusted.
 */
#include <config.h>

#include "util/env.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/compiler.h"
#include "util/log.h"

static _Atomic uint64_t warned;

static const char *const type_names[] = {
	[RU_PARAM_INT] = "int",
	[RU_PARAM_SIZE] = "size",
	[RU_PARAM_BOOL] = "bool",
	[RU_PARAM_ENUM] = "enum",
	[RU_PARAM_STRING] = "string",
};
_Static_assert(RU_ARRAY_SIZE(type_names) == RU_PARAM_TYPES, "a name each");

static const struct {
	const char *word;
	int value;
} bool_words[] = {
	{ "0", 0 }, { "no", 0 }, { "off", 0 }, { "false", 0 }, { "n", 0 },
	{ "1", 1 }, { "yes", 1 }, { "on", 1 }, { "true", 1 }, { "y", 1 },
};

const char *ru_param_type_name(enum ru_param_type type)
{
	return (unsigned int)type < RU_PARAM_TYPES ? type_names[type] : "?";
}

const struct ru_param *ru_param_find(const char *name)
{
	size_t i;

	for (i = 0; i < ru_params_count; i++)
		if (!strcmp(ru_params[i].name, name))
			return &ru_params[i];
	return NULL;
}

const char *ru_param_raw(const struct ru_param *p, bool *alias_out)
{
	const char *text = secure_getenv(p->name);
	bool is_alias = false;
	char alias[64];

	if (!text) {
		snprintf(alias, sizeof(alias), "FI_%s", p->name);
		text = secure_getenv(alias);
		is_alias = text != NULL;
	}
	if (alias_out)
		*alias_out = is_alias;
	return text;
}

static int parse_number(const char *text, bool suffix, int64_t *value_out)
{
	long long v;
	char *end;
	int shift = 0;
	int saved = errno;
	int rc = 0;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text)
		rc = -EINVAL;
	else if (errno)
		rc = -ERANGE;
	errno = saved;
	if (rc)
		return rc;
	if (suffix && *end) {
		switch (*end++) {
		case 'k': case 'K':
			shift = 10;
			break;
		case 'm': case 'M':
			shift = 20;
			break;
		case 'g': case 'G':
			shift = 30;
			break;
		default:
			return -EINVAL;
		}
	}
	if (*end)
		return -EINVAL;
	if (__builtin_mul_overflow(v, 1LL << shift, &v))
		return -ERANGE;
	*value_out = v;
	return 0;
}

static int parse_bool(const char *text, int64_t *value_out)
{
	size_t i;

	for (i = 0; i < RU_ARRAY_SIZE(bool_words); i++) {
		if (!strcasecmp(text, bool_words[i].word)) {
			*value_out = bool_words[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_enum(const struct ru_param *p, const char *text,
		      int64_t *value_out)
{
	int i;

	for (i = 0; p->choices[i]; i++) {
		if (!strcasecmp(text, p->choices[i])) {
			*value_out = i;
			return 0;
		}
	}
	return -EINVAL;
}

int ru_param_parse(const struct ru_param *p, const char *text,
		   int64_t *value_out)
{
	int64_t v = 0, bounded = p->min;
	int rc = 0;

	switch (p->type) {
	case RU_PARAM_INT:
	case RU_PARAM_SIZE:
		rc = parse_number(text, p->type == RU_PARAM_SIZE, &v);
		bounded = v;
		break;
	case RU_PARAM_BOOL:
		rc = parse_bool(text, &v);
		break;
	case RU_PARAM_ENUM:
		rc = parse_enum(p, text, &v);
		break;
	case RU_PARAM_STRING:
		bounded = (int64_t)strlen(text);
		break;
	default:
		return -EINVAL;
	}
	if (!rc && (bounded < p->min || bounded > p->max) &&
	    p->type != RU_PARAM_ENUM)
		rc = -ERANGE;
	if (!rc)
		*value_out = v;
	return rc;
}

/* Says what is wrong with the value, the first time for this parameter. */
static void complain(const struct ru_param *p, bool is_alias,
		     const char *text, int rc)
{
	uint64_t bit = UINT64_C(1) << (p - ru_params);

	if (atomic_fetch_or_explicit(&warned, bit, memory_order_relaxed) & bit)
		return;
	RU_WARN("param", "%s%s: \"%.200s\" is %s, using the default \"%s\"",
		is_alias ? "FI_" : "", p->name, text,
		rc == -ERANGE ? "out of range" : "not a valid value", p->def);
}

static const struct ru_param *find_typed(const char *name,
					enum ru_param_type type)
{
	const struct ru_param *p = ru_param_find(name);

	if (p && p->type == type)
		return p;
	RU_ERR("param", "%s is not a parameter of type %s", name,
	       ru_param_type_name(type));
	assert(!"parameter of the table");
	return NULL;
}

/* The text in force: what the environment says, if good, or the default. */
static const char *value_of(const char *name, enum ru_param_type type,
			    int64_t *value_out)
{
	const struct ru_param *p = find_typed(name, type);
	const char *text;
	bool is_alias;
	int rc;

	*value_out = 0;
	if (!p)
		return "";
	text = ru_param_raw(p, &is_alias);
	if (text) {
		rc = ru_param_parse(p, text, value_out);
		if (!rc)
			return text;
		complain(p, is_alias, text, rc);
	}
	/* Parses: a unit test goes through the defaults of the table. */
	ru_param_parse(p, p->def, value_out);
	return p->def;
}

int ru_param_int(const char *name)
{
	int64_t v;

	value_of(name, RU_PARAM_INT, &v);
	return (int)v;
}

size_t ru_param_size(const char *name)
{
	int64_t v;

	value_of(name, RU_PARAM_SIZE, &v);
	return (size_t)v;
}

bool ru_param_bool(const char *name)
{
	int64_t v;

	value_of(name, RU_PARAM_BOOL, &v);
	return v != 0;
}

int ru_param_enum(const char *name)
{
	int64_t v;

	value_of(name, RU_PARAM_ENUM, &v);
	return (int)v;
}

const char *ru_param_str(const char *name)
{
	int64_t v;

	return value_of(name, RU_PARAM_STRING, &v);
}

bool ru_param_is_set(const char *name)
{
	const struct ru_param *p = ru_param_find(name);

	return p && ru_param_raw(p, NULL);
}
