/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * librosm-path.so, preloaded by `rosm run`: some programs (UCX) use a verbs
 * device only if /dev/infiniband/<dev_name> is a character device that they
 * may read and write. There is none for ours, so where the file is missing,
 * stat() and access() answer for /dev/null instead. Any other path, and any
 * path that exists, is left alone. Stands alone: no other part of rosm is
 * loaded with it, and it keeps no state.
 *
 * The real calls are reached through fstatat() and faccessat(), which the C
 * library offers under names that nobody intercepts here.
 */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE_DIR "/dev/infiniband/"
#define STAND_IN "/dev/null"
#define EXPORT __attribute__((visibility("default")))

int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);

/* rosm0, rosm1 ... or, as $ROSM_DEVICE_NAME says, name and name<digits>. */
static int is_our_device(const char *path)
{
	const char *name = getenv("ROSM_DEVICE_NAME");
	size_t len;

	if (strncmp(path, DEVICE_DIR, strlen(DEVICE_DIR)))
		return 0;
	path += strlen(DEVICE_DIR);
	if (name && !strcmp(path, name))
		return 1;
	if (!name || !*name)
		name = "rosm";
	len = strlen(name);
	return !strncmp(path, name, len) && path[len] &&
	       strspn(path + len, "0123456789") == strlen(path + len);
}

/* After a call on path failed: shall it be made for the stand-in? */
static int stands_in(const char *path)
{
	int err = errno;
	int yes = (err == ENOENT || err == ENOTDIR) && is_our_device(path);

	errno = err;
	return yes;
}

EXPORT int stat(const char *path, struct stat *st)
{
	int rc = fstatat(AT_FDCWD, path, st, 0);

	if (rc && stands_in(path))
		rc = fstatat(AT_FDCWD, STAND_IN, st, 0);
	return rc;
}

EXPORT int stat64(const char *path, struct stat64 *st)
{
	int rc = fstatat64(AT_FDCWD, path, st, 0);

	if (rc && stands_in(path))
		rc = fstatat64(AT_FDCWD, STAND_IN, st, 0);
	return rc;
}

EXPORT int access(const char *path, int mode)
{
	int rc = faccessat(AT_FDCWD, path, mode, 0);

	if (rc && stands_in(path))
		rc = faccessat(AT_FDCWD, STAND_IN, mode, 0);
	return rc;
}

/* Programs built before glibc 2.33; struct stat is the same on LP64. */
EXPORT int __xstat(int version, const char *path, struct stat *st)
{
	(void)version;
	return stat(path, st);
}

EXPORT int __xstat64(int version, const char *path, struct stat64 *st)
{
	(void)version;
	return stat64(path, st);
}
