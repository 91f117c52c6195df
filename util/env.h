/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parameters: environment variables described by the one table in params.c,
 * which also feeds `rosm params` and the manual. FI_ROSM_X is an alias of
 * ROSM_X; ROSM_X wins. A value that does not parse or is out of range is
 * warned about once, naming the value and the default used in its place.
 *
 * Each getter reads the environment anew: callers read at set-up and keep
 * the result. A name that is not in the table, or is of another type, is a
 * programming error: logged, asserted, and read as 0 or "".
 */
#ifndef RU_ENV_H
#define RU_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ru_param_type {
	RU_PARAM_INT,		/* decimal, may be negative */
	RU_PARAM_SIZE,		/* bytes, suffix K, M or G (powers of 1024) */
	RU_PARAM_BOOL,		/* 0/1, no/yes, off/on, false/true */
	RU_PARAM_ENUM,		/* one of choices; its value is its index */
	RU_PARAM_STRING,	/* min and max bound its length */
	RU_PARAM_TYPES
};

struct ru_param {
	const char *name;		/* "ROSM_..." */
	enum ru_param_type type;
	const char *def;		/* default, as one would write it */
	int64_t min;			/* int, size: inclusive range */
	int64_t max;
	const char *const *choices;	/* enum: NULL-terminated */
	const char *help;		/* one sentence */
};

/* The table and how long it is. */
extern const struct ru_param ru_params[];
extern const size_t ru_params_count;

/* NULL when there is no such parameter. */
const struct ru_param *ru_param_find(const char *name);

/* "int", "size", "bool", "enum", "string". */
const char *ru_param_type_name(enum ru_param_type type);

/*
 * What the environment says, unchecked: NULL when neither name is set.
 * *alias_out (unless NULL) says that it came by the name FI_ROSM_X.
 */
const char *ru_param_raw(const struct ru_param *p, bool *alias_out);

/*
 * Parses text as a value of p (numbers, bool as 0/1, enum as index; 0 for a
 * string). 0, or -EINVAL, -ERANGE.
 */
int ru_param_parse(const struct ru_param *p, const char *text,
		   int64_t *value_out);

int ru_param_int(const char *name);
size_t ru_param_size(const char *name);
bool ru_param_bool(const char *name);
int ru_param_enum(const char *name);
/* Never NULL. Valid until the environment changes. */
const char *ru_param_str(const char *name);

/* True when the user set it, to a good value or not. */
bool ru_param_is_set(const char *name);

#endif
