/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs scripts through the faces of one program and writes a trace for each:
 *
 *	face_engine [-f FACE] -o FOLDER SCRIPT...
 *
 * Each role is a process that walks through the script and does its own
 * steps. It writes what it saw, completions and memory, into a page that it
 * shares with its parent, so that the trace of a killed role remains; the
 * parent writes FOLDER/SCRIPT.FACE. A step that does not go as the script
 * says fails that face. Whether the faces agree is for the reader of the
 * traces (across.sh).
 */
#include <config.h>

#include "tests/conform/role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/assert.h"

/* ---- one script on one face ----------------------------------------- */

struct run {
	const struct script *script;
	const struct face *face;
	struct trace *trace;		/* ROLES_MAX of them */
};

static int play(struct mp *mp, int rank, void *arg)
{
	const struct run *run = arg;
	struct role *r = calloc(1, sizeof(*r));
	void *buf;

	CHECK(r != NULL);
	buf = mmap(NULL, BUF_BYTES, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(buf != MAP_FAILED);
	r->script = run->script;
	r->face = run->face;
	r->trace = &run->trace[rank];
	r->end.mp = mp;
	r->end.role = rank;
	r->end.roles = run->script->roles;
	r->end.rnr_retry = run->script->rnr_retry;
	r->end.buf = buf;
	role_play(r);
	munmap(buf, BUF_BYTES);
	free(r);
	return 0;
}
static void write_trace(const struct run *run, const char *folder)
{
	char path[512];
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "%s/%s.%s", folder, run->script->name,
		 run->face->name);
	f = fopen(path, "w");
	CHECK(f != NULL);
	for (i = 0; i < run->script->roles; i++)
		fwrite(run->trace[i].text, 1, run->trace[i].len, f);
	CHECK_OK(fclose(f));
}

static bool run_script(const struct script *s, const struct face *face,
		       const char *folder)
{
	struct run run = { .script = s, .face = face };
	size_t bytes = ROLES_MAX * sizeof(*run.trace);
	int rc;

	run.trace = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(run.trace != MAP_FAILED);
	rc = mp_run(s->roles, play, &run);
	write_trace(&run, folder);
	printf("%s %s.%s\n", rc ? "not ok" : "ok", s->name, face->name);
	munmap(run.trace, bytes);
	return !rc;
}

/* ---- what a face does not have -------------------------------------- */

struct lack {
	const struct face *face;
	char what[32];
	char err[32];
};

static int try_lack(struct mp *mp, int rank, void *arg)
{
	const struct lack *lack = arg;
	int want = errno_of(lack->err, strlen(lack->err));
	int got = lack->face->refusal(lack->what);

	(void)mp;
	(void)rank;
	if (got != want)
		check_failed(__FILE__, __LINE__, "%s: %s is answered by %d (%s), not %s",
			     lack->face->name, lack->what, got,
			     got ? strerror(got) : "done", lack->err);
	return 0;
}

/* Why there is no trace. */
static void note(const struct script *s, const struct face *face,
		 const char *folder, const char *kind, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s.%s", folder, s->name, face->name,
		 kind);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs(text, f);
	CHECK_OK(fclose(f));
}

static bool run_lack(const struct script *s, struct lack *lack,
		     const char *folder)
{
	if (mp_run(1, try_lack, lack)) {
		printf("not ok %s.%s: without %s\n", s->name, lack->face->name,
		       lack->what);
		return false;
	}
	note(s, lack->face, folder, "refused", lack->what);
	printf("ok %s.%s: without %s, %s\n", s->name, lack->face->name,
	       lack->what, lack->err);
	return true;
}

/* --------------------------------------------------------------------- */

/* Whether a child may read this process's memory, as peers must. */
static bool cma_works(void)
{
	static char there = 7;
	pid_t parent = getpid(), pid;
	int status;

	if (getenv("ROSM_MOVE_CMA") && !strcmp(getenv("ROSM_MOVE_CMA"), "0"))
		return false;
	pid = fork();
	if (!pid) {
		char here = 0;
		struct iovec local = { &here, 1 }, remote = { &there, 1 };

		_exit(process_vm_readv(parent, &local, 1, &remote, 1, 0) != 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* Number of failures; *seen_out: the script names one of these faces. */
static int run_face(const struct script *s, const struct face *face,
		    const char *folder, bool *seen_out)
{
	struct lack lack = { .face = face };

	if (script_is_on(s, face->family)) {
		*seen_out = true;
		return !run_script(s, face, folder);
	}
	if (!script_without(s, face->family, lack.what, lack.err))
		return 0;
	*seen_out = true;
	return !run_lack(s, &lack, folder);
}

static int run_faces(const char *path, const char *only, const char *folder,
		     bool cma)
{
	struct script *s = script_read(path);
	int i, failures = 0;
	bool seen = false;

	for (i = 0; faces[i]; i++) {
		if (only && strcmp(only, faces[i]->name))
			continue;
		if (s->needs_cma && !cma) {
			printf("left out %s.%s: no CMA\n", s->name,
			       faces[i]->name);
			note(s, faces[i], folder, "left-out", "no CMA\n");
			seen = true;
			continue;
		}
		failures += run_face(s, faces[i], folder, &seen);
	}
	if (!seen) {
		printf("not ok %s: it says nothing about %s\n", s->name,
		       faces[0]->family);
		failures++;
	}
	script_free(s);
	return failures;
}

int main(int argc, char **argv)
{
	const char *only = NULL, *folder = NULL;
	int opt, failures = 0;
	bool cma;

	while ((opt = getopt(argc, argv, "f:o:")) != -1) {
		if (opt == 'f')
			only = optarg;
		else if (opt == 'o')
			folder = optarg;
		else
			return 2;
	}
	if (!folder || optind == argc) {
		fprintf(stderr, "usage: %s [-f FACE] -o FOLDER SCRIPT...\n",
			argv[0]);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	cma = cma_works();
	face_program_init();
	for (; optind < argc; optind++)
		failures += run_faces(argv[optind], only, folder, cma);
	return failures != 0;
}
