/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the objects that belong to this executable are. An installed tree may
 * be moved (a staged DESTDIR, a copy on another node), so the configured
 * folders count only relative to each other; a build tree is known by the
 * folder that libtool leaves its objects in.
 */
#include <config.h>

#include "tools/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "@dir/@rest", or -ENAMETOOLONG. */
static int join(char *out, const char *dir, const char *rest)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, rest);

	return n >= 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The folder of this executable. */
static int own_dir(char *dir)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	return 0;
}

/* How much of @a and @b is equal up to and with a slash. */
static size_t common_prefix(const char *a, const char *b)
{
	size_t i, slash = 0;

	for (i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			slash = i + 1;
	return slash;
}

/*
 * Where the configured folder @to is, if @dir is where the configured folder
 * ROSM_BINDIR went to. -ENOENT if @dir is not such a place.
 */
static int relocate(char *out, const char *dir, const char *to)
{
	size_t common = common_prefix(ROSM_BINDIR "/", to);
	const char *tail = &ROSM_BINDIR[common];
	size_t dir_len = strlen(dir), tail_len = strlen(tail);
	int n;

	if (dir_len <= tail_len || dir[dir_len - tail_len - 1] != '/' ||
	    strcmp(dir + dir_len - tail_len, tail))
		return -ENOENT;
	n = snprintf(out, PATH_MAX, "%.*s%s", (int)(dir_len - tail_len), dir,
		     to + common);
	return n >= 0 && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int installed(struct tool_place *place, const char *dir)
{
	int err = relocate(place->verbs_dir, dir, ROSM_PKGLIBDIR);

	if (!err)
		err = relocate(place->fi_dir, dir, ROSM_FIDIR);
	if (!err)
		err = join(place->preload, place->verbs_dir, "librosm-path.so");
	if (!err)
		err = join(place->nopsm_dir, place->verbs_dir, "nopsm");
	if (!err && access(place->verbs_dir, F_OK) &&
	    access(place->fi_dir, F_OK))
		err = -ENOENT;
	return err;
}

/* @dir is TOP/tools or, where libtool wraps the program, TOP/tools/.libs. */
static int built(struct tool_place *place, char *dir)
{
	size_t len = strlen(dir);
	char status[PATH_MAX];
	int err;

	if (len > 6 && !strcmp(dir + len - 6, "/.libs"))
		dir[len -= 6] = '\0';
	if (len <= 6 || strcmp(dir + len - 6, "/tools"))
		return -ENOENT;
	dir[len - 6] = '\0';
	err = join(status, dir, "config.status");
	if (!err && access(status, F_OK))
		err = -ENOENT;
	if (!err)
		err = join(place->verbs_dir, dir, "verbs-compat/.libs");
	if (!err)
		err = join(place->fi_dir, dir, "prov/.libs");
	if (!err)
		err = join(place->preload, dir,
			   "verbs-compat/.libs/librosm-path.so");
	if (!err)
		err = join(place->nopsm_dir, dir, "tools/.libs");
	return err;
}

int tool_place_find(struct tool_place *place_out)
{
	char dir[PATH_MAX];
	int err = own_dir(dir);

	if (err)
		return err;
	err = installed(place_out, dir);
	if (err == -ENOENT)
		err = built(place_out, dir);
	return err;
}
