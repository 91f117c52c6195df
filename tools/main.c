/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The `rosm` command: finds the subcommand and hands it its arguments. Each
 * has a file of its own; docs/man/rosm.1 describes them.
 */
#include <config.h>

#include "tools/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *args;
	const char *help;
};

static const struct command commands[] = {
	{ "run", tool_run, "[--no-mpi] [--no-verbs] [-v] -- COMMAND [ARG...]",
	  "run COMMAND with rosm in place" },
	{ "env", tool_env, "[--no-mpi] [--no-verbs] [--sh|--csh|--module]",
	  "print what `run` sets, for a script or a modulefile" },
	{ "info", tool_info, "",
	  "what this machine lets rosm do, and why" },
	{ "stat", tool_stat, "[--ended] [PID]",
	  "bytes and operations per peer and mover, live" },
	{ "params", tool_params, "[--man]",
	  "the parameters: environment variables ROSM_*" },
	{ "clean", tool_clean, "",
	  "remove this user's directory file if nothing uses it" },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

void tool_say(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "rosm: %s\n", line);
}

int tool_usage_error(const char *name, const char *word)
{
	if (word)
		tool_say("%s: \"%s\" is not understood; see `rosm --help`",
			 name, word);
	else
		tool_say("%s: an argument is missing; see `rosm --help`", name);
	return TOOL_USAGE;
}

int tool_flush(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return TOOL_OK;
	tool_say("standard output: %s", strerror(errno));
	return TOOL_FAILED;
}

static int print_help(void)
{
	int i;

	printf("usage: rosm SUBCOMMAND [ARG...]\n\n");
	for (i = 0; i < N_COMMANDS; i++)
		printf("  rosm %s%s%s\n      %s\n", commands[i].name,
		       *commands[i].args ? " " : "", commands[i].args,
		       commands[i].help);
	printf("  rosm --version | --help\n\nSee rosm(1) and rosm(7).\n");
	return tool_flush();
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	int i;

	if (!word)
		return tool_usage_error("rosm", NULL);
	if (!strcmp(word, "--version")) {
		printf("rosm %s\n", PACKAGE_VERSION);
		return tool_flush();
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h") ||
	    !strcmp(word, "help"))
		return print_help();
	for (i = 0; i < N_COMMANDS; i++)
		if (!strcmp(word, commands[i].name))
			return commands[i].main(argc - 1, argv + 1);
	return tool_usage_error("rosm", word);
}
