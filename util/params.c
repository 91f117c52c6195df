/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of all parameters, in the order in which they are shown. A
 * parameter is listed here when it does something, not before.
 */
#include <config.h>

#include "util/env.h"

#include "util/compiler.h"

#define KIB	INT64_C(1024)
#define MIB	(1024 * KIB)
#define GIB	(1024 * MIB)

static const char *const log_levels[] = {
	"error", "warn", "info", "debug", NULL
};

const struct ru_param ru_params[] = {
	{
		.name = "ROSM_DIR",
		.type = RU_PARAM_STRING,
		.def = "/dev/shm",
		.min = 1,
		.max = 4000,
		.help = "Folder of the file through which the processes of a "
			"node find each other; who shares it are peers.",
	}, {
		.name = "ROSM_DEVICE_NAME",
		.type = RU_PARAM_STRING,
		.def = "rosm0",
		.min = 1,
		.max = 63,
		.help = "Name of the verbs device.",
	}, {
		.name = "ROSM_SEGMENT_SIZE",
		.type = RU_PARAM_SIZE,
		.def = "1G",
		.min = 16 * MIB,
		.max = 16 * GIB,
		.help = "Address space that each process reserves for its "
			"shared queues; only what is used costs memory.",
	}, {
		.name = "ROSM_MOVE_CMA",
		.type = RU_PARAM_BOOL,
		.def = "1",
		.min = 0,
		.max = 1,
		.help = "Whether process_vm_readv and process_vm_writev may "
			"move data.",
	}, {
		.name = "ROSM_EAGER_LIMIT",
		.type = RU_PARAM_SIZE,
		.def = "8K",
		.min = 0,
		.max = 1 * MIB,
		.help = "Largest libfabric message sent at once; larger ones "
			"are announced and moved when they are matched.",
	}, {
		.name = "ROSM_FI_LAYERING",
		.type = RU_PARAM_BOOL,
		.def = "0",
		.min = 0,
		.max = 1,
		.help = "Whether libfabric's utility providers may be layered "
			"over this one.",
	}, {
		.name = "ROSM_VERBS_SYSTEM",
		.type = RU_PARAM_STRING,
		.def = "",
		.min = 0,
		.max = 4000,
		.help = "Path of the system's libibverbs.so.1, which drives "
			"real HCAs; \"none\" is without. By default it is "
			"looked for.",
	}, {
		.name = "ROSM_LOG_LEVEL",
		.type = RU_PARAM_ENUM,
		.def = "warn",
		.choices = log_levels,
		.help = "Least important log lines that are written to "
			"standard error.",
	},
#ifdef ROSM_FAULT
	{
		.name = "ROSM_FAULT",
		.type = RU_PARAM_STRING,
		.def = "",
		.min = 0,
		.max = 1000,
		.help = "Faults to raise: kill:NAME[:N] or fail:NAME[:N[+]], "
			"separated by commas.",
	},
#endif
};

const size_t ru_params_count = RU_ARRAY_SIZE(ru_params);

/* env.c keeps a bit for each. */
_Static_assert(RU_ARRAY_SIZE(ru_params) <= 64, "a word of bits");
