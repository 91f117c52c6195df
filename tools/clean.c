/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rosm clean`: removes this user's directory file, the only thing that rosm
 * leaves on the file system, unless a live process uses it. Nothing needs
 * this: the file has a fixed size and is used again.
 */
#include <config.h>

#include "tools/cmd.h"
#include "engine/rosm.h"

#include <errno.h>
#include <string.h>

int tool_clean(int argc, char **argv)
{
	char path[PATH_MAX];
	int err;

	if (argc > 1)
		return tool_usage_error("clean", argv[1]);
	err = rosm_dir_path(path, sizeof(path));
	if (!err)
		err = rosm_dir_clean();
	else
		strcpy(path, "directory file");
	switch (err) {
	case 0:
		printf("removed %s\n", path);
		return tool_flush();
	case -ENOENT:
		printf("nothing to remove: no %s\n", path);
		return tool_flush();
	case -EBUSY:
		tool_say("clean: %s is in use by a live process; see "
			 "`rosm stat`", path);
		return TOOL_FAILED;
	default:
		tool_say("clean: %s: %s", path, strerror(-err));
		return TOOL_FAILED;
	}
}
