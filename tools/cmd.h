/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the `rosm` command share: the subcommands, how they end,
 * and the variables that put rosm into a program.
 *
 * Each subcommand is a function of its own arguments (argv[0] is its name)
 * that returns the command's exit status. Results go to standard output;
 * everything else is one line on standard error, through tool_say().
 */
#ifndef ROSM_TOOLS_CMD_H
#define ROSM_TOOLS_CMD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Exit statuses; those of `run` are env(1)'s, so that scripts know them. */
enum {
	TOOL_OK = 0,
	TOOL_FAILED = 1,
	TOOL_USAGE = 2,
	TOOL_RUN_FAILED = 125,		/* rosm itself could not do its part */
	TOOL_RUN_CANNOT_EXEC = 126,
	TOOL_RUN_NOT_FOUND = 127,
};

int tool_run(int argc, char **argv);
int tool_env(int argc, char **argv);
int tool_params(int argc, char **argv);
int tool_info(int argc, char **argv);
int tool_stat(int argc, char **argv);
int tool_clean(int argc, char **argv);

/** One line on standard error: "rosm: " and the message. */
void tool_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Says what @name did not understand; returns TOOL_USAGE. */
int tool_usage_error(const char *name, const char *word);

/**
 * 0 if standard output took everything, else TOOL_FAILED after one line: a
 * full disk must not look like success.
 */
int tool_flush(void);

/* ---- place.c: where rosm's objects are -------------------------------- */

struct tool_place {
	char verbs_dir[PATH_MAX];	/* holds libibverbs.so.1 */
	char fi_dir[PATH_MAX];		/* holds librosm-fi.so */
	char preload[PATH_MAX];		/* librosm-path.so */
	char nopsm_dir[PATH_MAX];	/* libpsm_infinipath.so.1, see nopsm.c */
};

/**
 * Finds the objects that belong to this very executable: those of the tree
 * it was installed into, wherever that was moved to, or of the build tree it
 * was built in. Returns 0 or -errno; whether the files exist is not looked at.
 */
int tool_place_find(struct tool_place *place_out);

/* ---- env.c: the variables --------------------------------------------- */

enum tool_face {
	TOOL_FACE_FI = 1,
	TOOL_FACE_VERBS = 2,
	TOOL_FACE_MPI = 4,
	TOOL_FACE_ALL = 7
};

struct tool_var {
	const char *name;
	enum tool_face face;
	bool prepend;		/* to a list separated by colons */
	const char *value;
};

enum { TOOL_VARS_MAX = 16 };

/**
 * The variables for @faces (a mask) given @place, which must outlive them, to
 * be set in this order: a name may come twice. Returns how many of @vars_out
 * were filled.
 */
size_t tool_vars(const struct tool_place *place, unsigned faces,
		 struct tool_var vars_out[TOOL_VARS_MAX]);

/**
 * The value @var gets where its present value is @old (NULL: unset); what is
 * put in front of a list is taken out of its rest. Returns a string to free(),
 * or NULL for lack of memory.
 */
char *tool_var_value(const struct tool_var *var, const char *old);

/* ---- program.c: what keeps rosm out of a program ----------------------- */

enum tool_obstacle {
	TOOL_OBSTACLE_NONE,
	TOOL_OBSTACLE_STATIC,	/* no dynamic loader: nothing can be put in */
	TOOL_OBSTACLE_FOREIGN,	/* of another architecture or word size */
	TOOL_OBSTACLE_SETUID,	/* the loader drops the variables */
	TOOL_OBSTACLE_CAPS,	/* likewise: file capabilities */
	TOOL_OBSTACLE_MAX
};

/**
 * Finds @command as execvp() would. Returns 0 with its path in @path_out
 * (PATH_MAX bytes), or -ENOENT or -EACCES.
 */
int tool_program_find(const char *command, char *path_out);

/**
 * What keeps the variables from having an effect in the program at @path. Of
 * a script, its interpreter is looked at. A file that cannot be read has no
 * known obstacle.
 */
enum tool_obstacle tool_program_obstacle(const char *path);

/** In plain words; NULL for TOOL_OBSTACLE_NONE. */
const char *tool_obstacle_str(enum tool_obstacle obstacle);

#endif
