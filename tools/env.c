/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The variables that put rosm into a program, and `rosm env`, which prints
 * them. The table below is the only place that knows them.
 *
 * FI_PROVIDER_PATH is put in front of what the user has there: set at all, it
 * replaces libfabric's default folder, and that is wanted, for with
 * FI_PROVIDER=rosm no other provider is. opal_common_ofi_provider_include
 * sets both of Open MPI's users of libfabric (mtl/ofi and btl/ofi), for 4.x
 * and later alike. nopsm.c says why a folder that holds one of PSM's libraries
 * is in front of the loader's path; it is not where there is such an HCA.
 */
#include <config.h>

#include "tools/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum source { FIXED, VERBS_DIR, FI_DIR, PRELOAD, NOPSM_DIR };

struct var_def {
	const char *name;
	enum tool_face face;
	bool prepend;
	enum source source;
	const char *fixed;
};

static const struct var_def defs[] = {
	{ "LD_LIBRARY_PATH", TOOL_FACE_FI, true, NOPSM_DIR, NULL },
	{ "LD_LIBRARY_PATH", TOOL_FACE_VERBS, true, VERBS_DIR, NULL },
	{ "LD_PRELOAD", TOOL_FACE_VERBS, true, PRELOAD, NULL },
	{ "FI_PROVIDER_PATH", TOOL_FACE_FI, true, FI_DIR, NULL },
	{ "FI_PROVIDER", TOOL_FACE_FI, false, FIXED, "rosm" },
	{ "OMPI_MCA_pml", TOOL_FACE_MPI, false, FIXED, "cm" },
	{ "OMPI_MCA_mtl", TOOL_FACE_MPI, false, FIXED, "ofi" },
	{ "OMPI_MCA_opal_common_ofi_provider_include", TOOL_FACE_MPI, false,
	  FIXED, "rosm" },
};

enum { N_DEFS = sizeof(defs) / sizeof(defs[0]) };
_Static_assert(sizeof(defs) / sizeof(defs[0]) <= TOOL_VARS_MAX,
	       "callers' arrays are large enough");

/* Whether the HCA is there that PSM 1 is for. */
static bool have_ipath(void)
{
	return !access("/dev/ipath", F_OK) || !access("/dev/ipath0", F_OK);
}

/* NULL where the variable has no use. */
static const char *value_of(const struct var_def *def,
			    const struct tool_place *place)
{
	switch (def->source) {
	case VERBS_DIR:
		return place->verbs_dir;
	case FI_DIR:
		return place->fi_dir;
	case PRELOAD:
		return place->preload;
	case NOPSM_DIR:
		return have_ipath() ? NULL : place->nopsm_dir;
	default:
		return def->fixed;
	}
}

size_t tool_vars(const struct tool_place *place, unsigned faces,
		 struct tool_var vars_out[TOOL_VARS_MAX])
{
	const char *value;
	size_t i, n = 0;

	for (i = 0; i < N_DEFS; i++) {
		value = value_of(&defs[i], place);
		if (!(defs[i].face & faces) || !value)
			continue;
		vars_out[n++] = (struct tool_var){
			.name = defs[i].name,
			.face = defs[i].face,
			.prepend = defs[i].prepend,
			.value = value,
		};
	}
	return n;
}

/* @list without @item, both separated by colons, behind @out. */
static void append_without(char *out, const char *list, const char *item)
{
	size_t len, item_len = strlen(item);
	const char *end;

	out += strlen(out);
	for (;; list = end + 1) {
		end = strchrnul(list, ':');
		len = (size_t)(end - list);
		if (len != item_len || strncmp(list, item, len)) {
			*out++ = ':';
			out = mempcpy(out, list, len);
		}
		if (!*end)
			break;
	}
	*out = '\0';
}

char *tool_var_value(const struct tool_var *var, const char *old)
{
	char *value;

	if (!var->prepend || !old || !*old)
		return strdup(var->value);
	value = malloc(strlen(var->value) + strlen(old) + 2);
	if (!value)
		return NULL;
	strcpy(value, var->value);
	append_without(value, old, var->value);
	return value;
}

/* Within single quotes of sh and csh; a history '!' of csh is escaped too. */
static void print_quoted(const char *text, bool csh)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (*text == '!' && csh)
			fputs("\\!", stdout);
		else
			putchar(*text);
	}
	putchar('\'');
}

static int print_sh(const struct tool_var *var)
{
	printf("export %s=", var->name);
	print_quoted(var->value, false);
	if (var->prepend)
		printf("\"${%s:+:$%s}\"", var->name, var->name);
	putchar('\n');
	return 0;
}

/*
 * An `if` of csh does not survive eval `rosm env --csh`, so lists are written
 * out as they are in this environment.
 */
static int print_csh(const struct tool_var *var)
{
	char *value = tool_var_value(var, getenv(var->name));

	/* set here too, for a second variable of this name */
	if (!value || setenv(var->name, value, 1)) {
		free(value);
		return -ENOMEM;
	}
	printf("setenv %s ", var->name);
	print_quoted(value, true);
	printf(";\n");
	free(value);
	return 0;
}

/* Tcl, which Environment Modules and Lmod both read. */
static int print_module(const struct tool_var *var)
{
	printf("%s %s {%s}\n", var->prepend ? "prepend-path" : "setenv",
	       var->name, var->value);
	return 0;
}

int tool_env(int argc, char **argv)
{
	int (*print)(const struct tool_var *) = print_sh;
	unsigned faces = TOOL_FACE_ALL;
	struct tool_var vars[TOOL_VARS_MAX];
	struct tool_place place;
	size_t n, k;
	int i, err;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--sh"))
			print = print_sh;
		else if (!strcmp(argv[i], "--csh"))
			print = print_csh;
		else if (!strcmp(argv[i], "--module"))
			print = print_module;
		else if (!strcmp(argv[i], "--no-mpi"))
			faces &= ~(unsigned)TOOL_FACE_MPI;
		else if (!strcmp(argv[i], "--no-verbs"))
			faces &= ~(unsigned)TOOL_FACE_VERBS;
		else
			return tool_usage_error("env", argv[i]);
	}
	err = tool_place_find(&place);
	if (err) {
		tool_say("its libraries are not where it was installed: %s",
			 strerror(-err));
		return TOOL_FAILED;
	}
	n = tool_vars(&place, faces, vars);
	if (print == print_module)
		printf("#%%Module1.0\n"
		       "module-whatis {rosm %s: RDMA over Shared Memory}\n",
		       PACKAGE_VERSION);
	for (k = 0; k < n; k++) {
		if (print(&vars[k])) {
			tool_say("out of memory");
			return TOOL_FAILED;
		}
	}
	return tool_flush();
}
