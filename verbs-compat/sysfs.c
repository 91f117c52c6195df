/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two sysfs helpers that programs and librdmacm call. Stateless but for
 * the remembered path.
 */
#include <config.h>

#include "verbs-compat/rvc.h"

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

/*
 * Reads a whole small file into buf, always terminated, without its last
 * newline. Returns the length, or -1 with errno set.
 */
RVC_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file,
				   char *buf, size_t size)
{
	char path[4096];
	ssize_t len;
	int fd;

	if (size == 0)
		return rvc_minus_one(EINVAL);
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
