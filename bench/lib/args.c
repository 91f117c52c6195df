/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of latency, bandwidth and rate; see face.h. */
#include <config.h>

#include "bench/lib/face.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct bench_face *const bench_faces[] = {
	&bench_face_engine_rc,
	&bench_face_engine_rd,
	&bench_face_verbs,
	&bench_face_fabric,
	NULL,
};

static void usage(void)
{
	int i;

	fprintf(stderr, "usage: %s [-f FACE] [-p PROVIDER] [-s SIZE,...] "
		"[-t MILLISECONDS] [-r REPEATS] [-b]\nfaces:\n",
		program_invocation_short_name);
	for (i = 0; bench_faces[i]; i++)
		fprintf(stderr, "  %-10s %s\n", bench_faces[i]->name,
			bench_faces[i]->help);
	exit(2);
}

static const struct bench_face *face_by_name(const char *name)
{
	int i;

	for (i = 0; bench_faces[i]; i++)
		if (!strcmp(bench_faces[i]->name, name))
			return bench_faces[i];
	usage();
	return NULL;
}

static void parse_sizes(struct bench_args *args, const char *list)
{
	char *end;

	for (args->n_sizes = 0; *list; list = *end ? end + 1 : end) {
		if (args->n_sizes == sizeof(args->sizes) /
				     sizeof(args->sizes[0]))
			usage();
		args->sizes[args->n_sizes] = strtoul(list, &end, 0);
		if (end == list || (*end && *end != ',') ||
		    !args->sizes[args->n_sizes++])
			usage();
	}
	if (!args->n_sizes)
		usage();
}

static unsigned long number(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 0);

	if (*end || !n)
		usage();
	return n;
}

void bench_args_parse(struct bench_args *args, int argc, char **argv,
		      const char *default_sizes)
{
	int opt;

	memset(args, 0, sizeof(*args));
	args->face = &bench_face_engine_rc;
	args->ms = 20;
	args->repeats = 1;
	parse_sizes(args, default_sizes);
	while ((opt = getopt(argc, argv, "f:p:s:t:r:b")) != -1) {
		switch (opt) {
		case 'f':
			args->face = face_by_name(optarg);
			break;
		case 'p':
			args->provider = optarg;
			break;
		case 's':
			parse_sizes(args, optarg);
			break;
		case 't':
			args->ms = number(optarg);
			break;
		case 'r':
			args->repeats = (unsigned int)number(optarg);
			break;
		case 'b':
			args->both_ways = 1;
			break;
		default:
			usage();
		}
	}
	if (optind < argc)
		usage();
}

size_t bench_args_max(const struct bench_args *args)
{
	size_t max = 64;
	unsigned int i;

	for (i = 0; i < args->n_sizes; i++)
		if (args->sizes[i] > max)
			max = args->sizes[i];
	return max;
}

const char *bench_args_name(const struct bench_args *args)
{
	static char name[64];

	if (!args->provider)
		return args->face->name;
	snprintf(name, sizeof(name), "%s:%s", args->face->name, args->provider);
	return name;
}
