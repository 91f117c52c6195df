/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probes of `rosm info` that need only this process: memory objects,
 * barriers, page faults, limits. Those that need a second process are in
 * probe_pair.c.
 */
#include <config.h>

#include "tools/probe.h"
#include "tools/probe_pair.h"
#include "util/env.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/membarrier.h>
#include <linux/userfaultfd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

void probe_say(struct probe_result *result, enum probe_verdict verdict,
	       const char *fmt, ...)
{
	va_list ap;

	result->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(result->reason, sizeof(result->reason), fmt, ap);
	va_end(ap);
}

/* Bytes in words: "64 MiB". */
static const char *size_words(char *out, size_t len, uint64_t bytes)
{
	static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB",
					    "TiB" };
	int i = 0;

	while (bytes >= 10240 && i < 4) {
		bytes /= 1024;
		i++;
	}
	snprintf(out, len, "%" PRIu64 " %s", bytes, unit[i]);
	return out;
}

/* A writable mapping of a memfd by another way than our own fd; errno or 0. */
static int map_again(int fd)
{
	char path[64];
	void *p = MAP_FAILED;
	int again, err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again < 0)
		return errno;
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
	if (p == MAP_FAILED)
		err = errno;
	else
		munmap(p, PAGE);
	close(again);
	return err;
}

static void probe_memfd(struct probe_result *r)
{
	int fd = memfd_create("rosm-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *p;

	if (fd < 0) {
		probe_say(r, PROBE_NO, "memfd_create: %s", strerror(errno));
		return;
	}
	if (ftruncate(fd, PAGE)) {
		probe_say(r, PROBE_NO, "ftruncate: %s", strerror(errno));
		goto out_close;
	}
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		probe_say(r, PROBE_NO, "mmap: %s", strerror(errno));
		goto out_close;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		probe_say(r, PROBE_NO, "F_ADD_SEALS: %s", strerror(errno));
	} else if (ftruncate(fd, 0) == 0) {
		probe_say(r, PROBE_NO, "a sealed memfd was truncated");
	} else if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE)) {
		probe_say(r, PROBE_LIMITED, "F_SEAL_FUTURE_WRITE: %s",
			  strerror(errno));
	} else if (map_again(fd) != EPERM) {
		probe_say(r, PROBE_LIMITED,
			  "a write-sealed memfd could be mapped for writing");
	} else {
		p[0] = 1; /* the mapping made before the seal stays writable */
		probe_say(r, PROBE_YES,
			  "size and foreign writes are sealed by the kernel");
	}
	munmap(p, PAGE);
out_close:
	close(fd);
}

static void probe_pidfd(struct probe_result *r)
{
	struct pollfd pfd = { .events = POLLIN };
	pid_t pid = fork();

	if (pid < 0) {
		probe_say(r, PROBE_NO, "fork: %s", strerror(errno));
		return;
	}
	if (pid == 0) {
		alarm(5);
		for (;;)
			pause();
	}
	pfd.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pfd.fd < 0) {
		probe_say(r, PROBE_NO, "pidfd_open: %s", strerror(errno));
		kill(pid, SIGKILL);
	} else if (poll(&pfd, 1, 0) != 0) {
		probe_say(r, PROBE_NO, "a live process looks dead");
		kill(pid, SIGKILL);
	} else {
		kill(pid, SIGKILL);
		if (poll(&pfd, 1, 5000) == 1)
			probe_say(r, PROBE_YES,
				  "the death of a process wakes a sleeper");
		else
			probe_say(r, PROBE_NO, "a dead process looks alive");
	}
	if (pfd.fd >= 0)
		close(pfd.fd);
	waitpid(pid, NULL, 0);
}

static void probe_membarrier(struct probe_result *r)
{
	if (syscall(SYS_membarrier,
		    MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0))
		probe_say(r, PROBE_NO, "registering: %s", strerror(errno));
	else if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0))
		probe_say(r, PROBE_NO, "barrier: %s", strerror(errno));
	else
		probe_say(r, PROBE_YES, "one side of a race needs no fence");
}

static void probe_userfaultfd(struct probe_result *r)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd,
			      O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	void *p;

	if (fd < 0) {
		probe_say(r, PROBE_NO, "userfaultfd: %s", strerror(errno));
		return;
	}
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		probe_say(r, PROBE_NO, "mmap: %s", strerror(errno));
		close(fd);
		return;
	}
	reg.range.start = (uintptr_t)p;
	reg.range.len = PAGE;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		probe_say(r, PROBE_NO, "registering a range: %s",
			  strerror(errno));
	else
		probe_say(r, PROBE_YES, "faults of this user's own code");
	munmap(p, PAGE);
	close(fd);
}

/* Of <linux/fs.h>, Linux 6.11; older headers lack it. */
struct procmap_query {
	uint64_t size;
	uint64_t flags;
	uint64_t addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t name_size;
	uint32_t build_id_size;
	uint64_t name_addr;
	uint64_t build_id_addr;
};
_Static_assert(sizeof(struct procmap_query) == 104, "the kernel's layout");
#define IOC_PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)

static void probe_procmap(struct probe_result *r)
{
	struct procmap_query q = { .size = sizeof(q) };
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char here;

	if (fd < 0) {
		probe_say(r, PROBE_NO, "/proc/self/maps: %s", strerror(errno));
		return;
	}
	q.addr = (uintptr_t)&here;
	if (ioctl(fd, IOC_PROCMAP_QUERY, &q))
		probe_say(r, PROBE_NO, "PROCMAP_QUERY: %s (Linux 6.11 has it)",
			  strerror(errno));
	else if (q.vma_start > q.addr || q.vma_end <= q.addr)
		probe_say(r, PROBE_NO, "PROCMAP_QUERY: a wrong answer");
	else
		probe_say(r, PROBE_YES, "what an address is mapped to is "
					"asked in one call");
	close(fd);
}

/* A number of /proc/self/smaps for the mapping at @addr, in KiB; -1. */
static long smaps_kib(const void *addr, const char *field)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512];
	uintptr_t from, to;
	long kib = -1;
	int inside = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			inside = (uintptr_t)addr >= from && (uintptr_t)addr < to;
		else if (inside && !strncmp(line, field, strlen(field)))
			kib = strtol(line + strlen(field), NULL, 10);
	}
	if (f)
		fclose(f);
	return kib;
}

/* The bracketed word of a file such as "always [madvise] never". */
static const char *chosen_word(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");
	char *word = f ? fgets(buf, (int)len, f) : NULL;

	if (f)
		fclose(f);
	word = word ? strchr(word, '[') : NULL;
	if (!word)
		return "unknown";
	word[strcspn(word, "]")] = '\0';
	return word + 1;
}

static void probe_huge(struct probe_result *r)
{
	char word[128];
	const char *mode = chosen_word(
		"/sys/kernel/mm/transparent_hugepage/shmem_enabled", word,
		sizeof(word));
	int fd = memfd_create("rosm-probe", MFD_CLOEXEC);
	char *p, *at;
	long kib;

	if (fd < 0 || ftruncate(fd, 2 * HUGE_PAGE)) {
		probe_say(r, PROBE_NO, "memfd: %s", strerror(errno));
		goto out_close;
	}
	p = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 0);
	if (p == MAP_FAILED) {
		probe_say(r, PROBE_NO, "mmap: %s", strerror(errno));
		goto out_close;
	}
	madvise(p, 2 * HUGE_PAGE, MADV_HUGEPAGE);
	for (at = p; at < p + 2 * HUGE_PAGE; at += PAGE)
		*at = 1;
	kib = smaps_kib(p, "ShmemPmdMapped:");
	if (kib > 0)
		probe_say(r, PROBE_YES,
			  "a memfd got them (shmem_enabled: %s)", mode);
	else
		probe_say(r, PROBE_NO,
			  "a memfd got none (shmem_enabled: %s)", mode);
	munmap(p, 2 * HUGE_PAGE);
out_close:
	if (fd >= 0)
		close(fd);
}

static void probe_file_size(struct probe_result *r)
{
	uint64_t need = ru_param_size("ROSM_SEGMENT_SIZE");
	char has_words[32], need_words[32];
	struct rlimit lim;

	if (getrlimit(RLIMIT_FSIZE, &lim))
		probe_say(r, PROBE_LIMITED, "getrlimit: %s", strerror(errno));
	else if (lim.rlim_cur == RLIM_INFINITY)
		probe_say(r, PROBE_YES, "no limit");
	else if (lim.rlim_cur >= need)
		probe_say(r, PROBE_YES, "%s, a segment takes %s",
			  size_words(has_words, sizeof(has_words),
				     lim.rlim_cur),
			  size_words(need_words, sizeof(need_words), need));
	else
		probe_say(r, PROBE_NO,
			  "%s (ulimit -f) is less than a segment of %s",
			  size_words(has_words, sizeof(has_words),
				     lim.rlim_cur),
			  size_words(need_words, sizeof(need_words), need));
}

static void probe_address_space(struct probe_result *r)
{
	uint64_t need = ru_param_size("ROSM_SEGMENT_SIZE");
	char words[32];
	struct rlimit lim;

	if (getrlimit(RLIMIT_AS, &lim))
		probe_say(r, PROBE_LIMITED, "getrlimit: %s", strerror(errno));
	else if (lim.rlim_cur == RLIM_INFINITY)
		probe_say(r, PROBE_YES, "no limit");
	else
		probe_say(r, lim.rlim_cur > 4 * need ? PROBE_LIMITED : PROBE_NO,
			  "%s (ulimit -v) for this process and its peers",
			  size_words(words, sizeof(words), lim.rlim_cur));
}

static void probe_dir(struct probe_result *r)
{
	const char *dir = ru_param_str("ROSM_DIR");
	char path[4096 + 32], size[32], avail[32];
	struct statvfs fs;
	int fd;

	snprintf(path, sizeof(path), "%s/.rosm-probe-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		probe_say(r, PROBE_NO, "%s: %s", dir, strerror(errno));
		return;
	}
	unlink(path);
	if (fstatvfs(fd, &fs))
		probe_say(r, PROBE_LIMITED, "%s: %s", dir, strerror(errno));
	else
		probe_say(r, PROBE_YES,
			  "%s: %s, %s free; payload is not kept there", dir,
			  size_words(size, sizeof(size),
				     (uint64_t)fs.f_blocks * fs.f_frsize),
			  size_words(avail, sizeof(avail),
				     (uint64_t)fs.f_bavail * fs.f_frsize));
	close(fd);
}

const struct probe probes[] = {
	{ "memfd and seals", probe_memfd, "rosm does not work" },
	{ "directory folder", probe_dir, "rosm does not work; set ROSM_DIR" },
	{ "file size limit", probe_file_size,
	  "rosm does not work; raise the limit or lower ROSM_SEGMENT_SIZE" },
	{ "address space limit", probe_address_space,
	  "few peers can be mapped; lower ROSM_SEGMENT_SIZE" },
	{ "/proc/PID/fd, own child", probe_fd_child,
	  "contact goes over a socket" },
	{ "/proc/PID/fd, sibling", probe_fd_sibling,
	  "contact goes over a socket and needs the other's next call" },
	{ "doorbell pipe, sibling", probe_pipe_sibling,
	  "sleepers look up by themselves" },
	{ "pidfd", probe_pidfd, "death is seen by the directory's locks" },
	{ "membarrier", probe_membarrier, "both sides of a race fence" },
	{ "CMA, parent to child", probe_cma_child,
	  "large messages go through shared memory" },
	{ "CMA, child to parent", probe_cma_parent,
	  "large messages go through shared memory" },
	{ "CMA, between siblings", probe_cma_sibling,
	  "large messages go through shared memory" },
	{ "one is not dumpable", probe_apart_dump, "what is sent fails" },
	{ "one in a user namespace", probe_apart_user, "what is sent fails" },
	{ "two user namespaces", probe_apart_users, "what is sent fails" },
	{ "two pid namespaces", probe_apart_pids, "what is sent fails" },
	{ "pid, network namespaces", probe_apart_nets, "what is sent fails" },
	{ "userfaultfd", probe_userfaultfd, "no memory is mapped by peers" },
	{ "PROCMAP_QUERY", probe_procmap, "no cache of registrations" },
	{ "huge pages", probe_huge, "shared memory is in small pages" },
};
const unsigned probes_count = sizeof(probes) / sizeof(probes[0]);
