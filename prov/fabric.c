/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider as libfabric finds it (fi_prov_ini, the only symbol this
 * object exports), its parameters and log lines, and the fabric object.
 *
 * Log lines of all layers go to fi_log() where FI_LOG_LEVEL asks for them;
 * otherwise ROSM_LOG_LEVEL decides and they go to standard error.
 */
#include <config.h>

#include "prov/rfi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/providers/fi_log.h>

#include "prov/cq.h"
#include "util/env.h"
#include "util/log.h"

#define VERSION_PARTS	3

FI_EXT_INI;

/* ---- log ------------------------------------------------------------ */

static const enum fi_log_level log_levels[RU_LOG_LEVELS] = {
	[RU_LOG_ERROR] = FI_LOG_WARN,
	[RU_LOG_WARN] = FI_LOG_WARN,
	[RU_LOG_INFO] = FI_LOG_INFO,
	[RU_LOG_DEBUG] = FI_LOG_DEBUG,
};

/* What ROSM_LOG_LEVEL says, for lines that libfabric does not want. */
static int log_own_level;

static void log_write(void *ctx, enum ru_log_level level, const char *subsys,
		      const char *line)
{
	(void)ctx;
	if (fi_log_enabled(&rfi_provider, log_levels[level], FI_LOG_CORE))
		fi_log(&rfi_provider, log_levels[level], FI_LOG_CORE, subsys, 0,
		       "%s\n", line);
	else if ((int)level <= log_own_level)
		fprintf(stderr, "rosm %s %s: %s\n", ru_log_level_name(level),
			subsys, line);
}

static struct ru_log_sink log_sink = { .write = log_write };

static void log_init(void)
{
	int level;

	log_own_level = ru_param_enum("ROSM_LOG_LEVEL");
	log_sink.level = log_own_level;
	for (level = RU_LOG_LEVELS - 1; level > log_own_level; level--)
		if (fi_log_enabled(&rfi_provider, log_levels[level],
				   FI_LOG_CORE))
			break;
	log_sink.level = level;
	ru_log_set_sink(&log_sink);
}

/* ---- parameters ----------------------------------------------------- */

static enum fi_param_type param_type(enum ru_param_type type)
{
	switch (type) {
	case RU_PARAM_INT:
		return FI_PARAM_INT;
	case RU_PARAM_BOOL:
		return FI_PARAM_BOOL;
	default:
		/* Sizes too: libfabric's own type knows no suffixes. */
		return FI_PARAM_STRING;
	}
}

/* Makes fi_info -e list them; util/env.c reads them. */
static void params_define(void)
{
	char name[64];
	size_t i, c;

	for (i = 0; i < ru_params_count; i++) {
		const struct ru_param *p = &ru_params[i];
		const char *tail = p->name + strlen("ROSM_");

		for (c = 0; tail[c] && c < sizeof(name) - 1; c++)
			name[c] = tail[c] >= 'A' && tail[c] <= 'Z' ?
				(char)(tail[c] - 'A' + 'a') : tail[c];
		name[c] = '\0';
		fi_param_define(&rfi_provider, name, param_type(p->type),
				"%s (default: %s; also %s)", p->help,
				*p->def ? p->def : "none", p->name);
	}
}

/* ---- fabric --------------------------------------------------------- */

static int fabric_close(struct fid *fid)
{
	struct rfi_fabric *fabric =
		ru_container_of(fid, struct rfi_fabric, fid.fid);

	if (rfi_ref_busy(&fabric->ref))
		return -FI_EBUSY;
	free(fabric);
	return 0;
}

static int fabric_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
			     struct fid_pep **pep, void *context)
{
	(void)fabric;
	(void)info;
	(void)pep;
	(void)context;
	return -FI_ENOSYS;
}

static int fabric_wait_open(struct fid_fabric *fabric,
			    struct fi_wait_attr *attr, struct fid_wait **wait)
{
	(void)fabric;
	(void)attr;
	(void)wait;
	return -FI_ENOSYS;
}

static int fabric_domain2(struct fid_fabric *fabric, struct fi_info *info,
			  struct fid_domain **domain, uint64_t flags,
			  void *context)
{
	if (flags)
		return -FI_EBADFLAGS;
	return rfi_domain_open(fabric, info, domain, context);
}

static struct fi_ops fabric_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
	.bind = rfi_nosys_bind,
	.control = rfi_nosys_control,
	.ops_open = rfi_nosys_ops_open,
	.tostr = rfi_nosys_tostr,
	.ops_set = rfi_nosys_ops_set,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = rfi_domain_open,
	.passive_ep = fabric_passive_ep,
	.eq_open = rfi_eq_open,
	.wait_open = fabric_wait_open,
	.trywait = rfi_trywait,
	.domain2 = fabric_domain2,
};

static int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out,
		       void *context)
{
	struct rfi_fabric *fabric;

	if (attr->name && strcmp(attr->name, RFI_FABRIC_NAME))
		return -FI_ENODATA;
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fid_ops;
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	*out = &fabric->fid;
	return 0;
}

/* ---- provider ------------------------------------------------------- */

static void provider_cleanup(void)
{
	ru_log_set_sink(NULL);
}

struct fi_provider rfi_provider = {
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "rosm",
	.getinfo = rfi_getinfo,
	.fabric = fabric_open,
	.cleanup = provider_cleanup,
};

/* "0.1.0": libfabric has room for two numbers, major and the rest. */
static uint32_t provider_version(void)
{
	unsigned int v[VERSION_PARTS] = { 0 };

	if (sscanf(rosm_version(), "%u.%u.%u", &v[0], &v[1], &v[2]) < 2)
		return FI_VERSION(0, 0);
	return FI_VERSION(v[0], v[1]);
}

struct fi_provider *fi_prov_ini(void)
{
	rfi_provider.version = provider_version();
	params_define();
	log_init();
	return &rfi_provider;
}
