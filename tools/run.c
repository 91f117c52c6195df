/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rosm run`: sets the variables and becomes the command, so that status and
 * signals are the command's own and no process stands between.
 *
 * What is in the way is said in one line. A program that rosm cannot be put
 * into is run all the same: it may be a launcher whose children can be. A
 * missing program is not run, with the status that env(1) gives.
 */
#include <config.h>

#include "tools/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const launchers[] = { "mpirun", "mpiexec", "orterun",
					 "prterun" };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_launcher(const char *command)
{
	const char *name = base_name(command);
	size_t i;

	for (i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (!strncmp(name, launchers[i], strlen(launchers[i])))
			return true;
	return false;
}

/* Every object that the variables name must be there, or nothing is run. */
static int check_files(const struct tool_place *place, unsigned faces)
{
	char path[PATH_MAX + 32];

	if (faces & TOOL_FACE_VERBS) {
		snprintf(path, sizeof(path), "%s/libibverbs.so.1",
			 place->verbs_dir);
		if (access(path, R_OK))
			goto missing;
		snprintf(path, sizeof(path), "%s", place->preload);
		if (access(path, R_OK))
			goto missing;
		if (strpbrk(path, ": ")) {
			tool_say("%s: the loader splits LD_PRELOAD at colons "
				 "and blanks; install rosm elsewhere", path);
			return TOOL_RUN_FAILED;
		}
	}
	snprintf(path, sizeof(path), "%s/librosm-fi.so", place->fi_dir);
	if (access(path, R_OK))
		goto missing;
	return TOOL_OK;
missing:
	tool_say("%s: %s; is rosm built and installed?", path, strerror(errno));
	return TOOL_RUN_FAILED;
}

static int set_variables(const struct tool_place *place, unsigned faces,
			 bool verbose)
{
	struct tool_var vars[TOOL_VARS_MAX];
	size_t i, n = tool_vars(place, faces, vars);
	char *value;

	for (i = 0; i < n; i++) {
		value = tool_var_value(&vars[i], getenv(vars[i].name));
		if (!value || setenv(vars[i].name, value, 1)) {
			tool_say("out of memory");
			free(value);
			return TOOL_RUN_FAILED;
		}
		free(value);
	}
	for (i = 0; verbose && i < n; i++)
		if (!i || strcmp(vars[i].name, vars[i - 1].name))
			fprintf(stderr, "%s=%s\n", vars[i].name,
				getenv(vars[i].name));
	return TOOL_OK;
}

/* Says what is wrong with the command; TOOL_OK if it can be run. */
static int check_command(const char *command)
{
	enum tool_obstacle obstacle;
	char path[PATH_MAX];
	int err = tool_program_find(command, path);

	if (err == -ENOENT && is_launcher(command)) {
		tool_say("%s: no MPI is found; is Open MPI installed and in "
			 "PATH? (Debian: openmpi-bin)", command);
		return TOOL_RUN_NOT_FOUND;
	}
	if (err == -ENOENT) {
		tool_say("%s: command not found", command);
		return TOOL_RUN_NOT_FOUND;
	}
	if (err) {
		tool_say("%s: %s", command, strerror(-err));
		return TOOL_RUN_CANNOT_EXEC;
	}
	obstacle = tool_program_obstacle(path);
	if (obstacle != TOOL_OBSTACLE_NONE)
		tool_say("%s %s", command, tool_obstacle_str(obstacle));
	return TOOL_OK;
}

/* Index of the command in @argv, argc if there is none, -1 on a bad word. */
static int parse(int argc, char **argv, unsigned *faces, bool *verbose)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (!strcmp(argv[i], "--no-mpi"))
			*faces &= ~(unsigned)TOOL_FACE_MPI;
		else if (!strcmp(argv[i], "--no-verbs"))
			*faces &= ~(unsigned)TOOL_FACE_VERBS;
		else if (!strcmp(argv[i], "-v"))
			*verbose = true;
		else {
			tool_usage_error("run", argv[i]);
			return -1;
		}
	}
	return i;
}

int tool_run(int argc, char **argv)
{
	unsigned faces = TOOL_FACE_ALL;
	bool verbose = false;
	struct tool_place place;
	int at, err;

	at = parse(argc, argv, &faces, &verbose);
	if (at < 0)
		return TOOL_RUN_FAILED;
	if (at >= argc) {
		tool_usage_error("run", NULL);
		return TOOL_RUN_FAILED;
	}
	err = tool_place_find(&place);
	if (err) {
		tool_say("its libraries are not where it was installed: %s",
			 strerror(-err));
		return TOOL_RUN_FAILED;
	}
	err = check_files(&place, faces);
	if (!err)
		err = check_command(argv[at]);
	if (!err)
		err = set_variables(&place, faces, verbose);
	if (err)
		return err;
	execvp(argv[at], argv + at);
	err = errno;
	tool_say("%s: %s", argv[at], strerror(err));
	return err == ENOENT ? TOOL_RUN_NOT_FOUND : TOOL_RUN_CANNOT_EXEC;
}
