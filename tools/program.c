/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the variables of `rosm run` will have an effect in a program. Looks
 * at the file only: nothing is executed. The file may change before it is
 * run, so the answer is good for a message and for nothing else.
 */
#include <config.h>

#include "tools/cmd.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *const obstacle_text[TOOL_OBSTACLE_MAX] = {
	[TOOL_OBSTACLE_STATIC] =
		"is static: rosm cannot be put into it, only into programs "
		"that it starts",
	[TOOL_OBSTACLE_FOREIGN] =
		"is built for another architecture than rosm, which cannot be "
		"put into it",
	[TOOL_OBSTACLE_SETUID] =
		"is setuid or setgid: the loader ignores rosm's variables in "
		"it",
	[TOOL_OBSTACLE_CAPS] =
		"has file capabilities: the loader ignores rosm's variables "
		"in it",
};

const char *tool_obstacle_str(enum tool_obstacle obstacle)
{
	return (unsigned)obstacle < TOOL_OBSTACLE_MAX ? obstacle_text[obstacle]
						      : NULL;
}

/* 0, -EACCES (there, but not to be executed) or -ENOENT. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno == EACCES ? -EACCES : -ENOENT;
	if (S_ISDIR(st.st_mode) || access(path, X_OK))
		return -EACCES;
	return 0;
}

int tool_program_find(const char *command, char *path_out)
{
	const char *dir = getenv("PATH"), *end;
	int err, found = -ENOENT;
	struct stat st;

	if (strchr(command, '/')) {
		if (strlen(command) >= PATH_MAX)
			return -ENOENT;
		strcpy(path_out, command);
		return executable(command);
	}
	if (!*command)
		return -ENOENT;
	for (dir = dir ? dir : "/bin:/usr/bin"; dir; dir = *end ? end + 1 : NULL) {
		end = strchrnul(dir, ':');
		/* an empty element means the working directory */
		if (snprintf(path_out, PATH_MAX, "%.*s%s%s", (int)(end - dir),
			     dir, end > dir ? "/" : "./",
			     command) >= PATH_MAX)
			continue;
		/* a folder that may not be searched holds nothing for us */
		if (stat(path_out, &st))
			continue;
		err = executable(path_out);
		if (!err)
			return 0;
		found = err;
	}
	return found;
}

/* Bits of the mode that make the kernel ask the loader for secure mode. */
static bool changes_user(const struct stat *st)
{
	if (st->st_mode & S_ISUID && st->st_uid != getuid())
		return true;
	return (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	       st->st_gid != getgid();
}

/* root gains nothing from file capabilities and keeps its variables. */
static bool gains_caps(int fd)
{
	return getuid() != 0 &&
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

/* Whether a loader is named; true also for a file cut short. */
static bool has_interp(int fd, const unsigned char *head)
{
	uint64_t at;
	unsigned i, n, size;
	uint32_t type;

	if (head[EI_CLASS] == ELFCLASS64) {
		const Elf64_Ehdr *eh = (const void *)head;

		at = eh->e_phoff;
		n = eh->e_phnum;
		size = eh->e_phentsize;
	} else {
		const Elf32_Ehdr *eh = (const void *)head;

		at = eh->e_phoff;
		n = eh->e_phnum;
		size = eh->e_phentsize;
	}
	for (i = 0; i < n; i++, at += size) {
		/* the first member for both word sizes */
		if (pread(fd, &type, sizeof(type), (off_t)at) != sizeof(type) ||
		    type == PT_INTERP)
			return true;
	}
	return false;
}

static bool own_kind(const unsigned char *head)
{
	Elf64_Ehdr self, other;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	bool same = true;

	if (fd < 0)
		return true;
	memcpy(&other, head, sizeof(other));
	/* e_machine lies at the same place for both word sizes */
	if (pread(fd, &self, sizeof(self), 0) == sizeof(self))
		same = self.e_ident[EI_CLASS] == other.e_ident[EI_CLASS] &&
		       self.e_ident[EI_DATA] == other.e_ident[EI_DATA] &&
		       self.e_machine == other.e_machine;
	close(fd);
	return same;
}

static enum tool_obstacle elf_obstacle(int fd, const unsigned char *head)
{
	if (!own_kind(head))
		return TOOL_OBSTACLE_FOREIGN;
	return has_interp(fd, head) ? TOOL_OBSTACLE_NONE : TOOL_OBSTACLE_STATIC;
}

/* "#! /path arg" -> "/path", in place; NULL if it is no such line. */
static char *interpreter(char *line)
{
	line += 2 + strspn(line + 2, " \t");
	line[strcspn(line, " \t\n")] = '\0';
	return *line == '/' ? line : NULL;
}

static enum tool_obstacle obstacle_of(const char *path, int depth)
{
	enum tool_obstacle found = TOOL_OBSTACLE_NONE;
	_Alignas(Elf64_Ehdr) char head[512] = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		if (fd >= 0)
			close(fd);
		/* a program may be executable and not readable */
		if (!stat(path, &st) && changes_user(&st))
			return TOOL_OBSTACLE_SETUID;
		return TOOL_OBSTACLE_NONE;
	}
	n = pread(fd, head, sizeof(head) - 1, 0);
	if (n >= (ssize_t)sizeof(Elf64_Ehdr) && !memcmp(head, ELFMAG, SELFMAG)) {
		if (changes_user(&st))
			found = TOOL_OBSTACLE_SETUID;
		else if (gains_caps(fd))
			found = TOOL_OBSTACLE_CAPS;
		else
			found = elf_obstacle(fd, (unsigned char *)head);
	} else if (n > 2 && head[0] == '#' && head[1] == '!' && depth < 4) {
		char *next = interpreter(head);

		if (next)
			found = obstacle_of(next, depth + 1);
	}
	close(fd);
	return found;
}

enum tool_obstacle tool_program_obstacle(const char *path)
{
	return obstacle_of(path, 0);
}
