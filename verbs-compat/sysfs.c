/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two sysfs helpers that programs and librdmacm call. The kernel shows
 * nothing of our device; the few files that programs read of one through these
 * helpers are answered from a table. Stateless.
 */
#include <config.h>

#include "verbs-compat/rvc.h"

#include "engine/rosm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* $SYSFS_PATH moves the tree, as in the stock library; not for setuid. */
RVC_EXPORT const char *ibv_get_sysfs_path(void)
{
	const char *path = secure_getenv("SYSFS_PATH");

	return path && *path ? path : "/sys";
}

/* What there is in the folder ibdev_path of our device; NULL: no such file. */
static const char *own_file(const char *dir, const char *file)
{
	struct rvc_device *dev;

	if (!rvc_devices(&dev) || strcmp(dir, dev->ibdev.ibdev_path))
		return NULL;
	if (!strcmp(file, "board_id"))
		return "ROSM";
	if (!strcmp(file, "fw_ver"))
		return rosm_version();
	return NULL;
}

/*
 * Reads a whole small file into buf, always terminated, without its last
 * newline. Returns the length, or -1 with errno set.
 */
RVC_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file,
				   char *buf, size_t size)
{
	const char *own = own_file(dir, file);
	char path[4096];
	ssize_t len;
	int fd;

	if (size == 0)
		return rvc_minus_one(EINVAL);
	if (own) {
		snprintf(buf, size, "%s", own);
		return (int)strlen(buf);
	}
	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >=
	    (int)sizeof(path))
		return rvc_minus_one(ENAMETOOLONG);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do
		len = read(fd, buf, size);
	while (len < 0 && errno == EINTR);
	if (len < 0) {
		int err = errno;

		close(fd);
		return rvc_minus_one(err);
	}
	close(fd);
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	else if ((size_t)len == size)
		len--;
	buf[len] = '\0';
	return (int)len;
}
