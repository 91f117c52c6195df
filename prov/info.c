/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_getinfo: one fi_info for reliable datagrams, with what the program asked
 * for where that can be met, or -FI_ENODATA and a line at level info that
 * says which hint could not.
 *
 * There is exactly one answer to a set of hints: Open MPI takes several that
 * look alike for several network cards and spreads its ranks over them.
 *
 * Keys of memory regions are the engine's (FI_MR_PROV_KEY) and a region must
 * be mapped when it is registered (FI_MR_ALLOCATED). Only that way does a
 * read or write need nothing from its target: a key chosen by the program
 * would have to be translated there first. So capabilities with FI_RMA need
 * both bits in the hints; others need none.
 */
#include <config.h>

#include "prov/rfi.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "util/env.h"
#include "util/log.h"

/* Set by utility providers that look for something to build on. */
#define FLAG_CORE_PROV_ONLY	(UINT64_C(1) << 59)

#define CAPS_DATA	(FI_MSG | FI_TAGGED | FI_RMA)
#define CAPS_MSG_DIR	(FI_SEND | FI_RECV)
#define CAPS_RMA_DIR	(FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define CAPS_COMM	(FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS_RX_ONLY	(FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE)
#define CAPS_ALL	(CAPS_DATA | CAPS_MSG_DIR | CAPS_RMA_DIR | CAPS_COMM | \
			 CAPS_RX_ONLY)
#define CAPS_TX		(CAPS_DATA | FI_SEND | FI_READ | FI_WRITE)
#define CAPS_RX		(CAPS_DATA | FI_RECV | FI_REMOTE_READ | \
			 FI_REMOTE_WRITE | CAPS_RX_ONLY)

#define TX_OP_FLAGS	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | \
			 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
			 FI_MATCH_COMPLETE | FI_REMOTE_CQ_DATA | FI_MORE)
#define RX_OP_FLAGS	(FI_COMPLETION | FI_MULTI_RECV | FI_MORE)

#define MSG_ORDER	FI_ORDER_SAS
#define COMP_ORDER	RFI_ORDER_DATA

#define MR_RMA		(FI_MR_PROV_KEY | FI_MR_ALLOCATED)
#define MR_KEY_BYTES	8
#define CQ_DATA_BYTES	8

size_t rfi_inject_size(void)
{
	return ru_param_size("ROSM_EAGER_LIMIT");
}

static bool reject(const char *why)
{
	RU_INFO("info", "hints cannot be met: %s", why);
	return false;
}

/* ---- capabilities --------------------------------------------------- */

static bool mr_old_api(uint32_t version)
{
	return FI_VERSION_LT(version, FI_VERSION(1, 5));
}

/* Whether the program's MR modes allow keys that are the provider's. */
static bool mr_allows_rma(uint32_t version, const struct fi_info *hints)
{
	int mode;

	if (!hints || !hints->domain_attr)
		return !hints || mr_old_api(version);
	mode = hints->domain_attr->mr_mode;
	if (mode & RFI_MR_BASIC)
		return true;
	if (mr_old_api(version))
		return mode == RFI_MR_UNSPEC;
	return (mode & MR_RMA) == MR_RMA;
}

static int mr_mode(uint32_t version, const struct fi_info *hints, uint64_t caps)
{
	int mode = hints && hints->domain_attr ? hints->domain_attr->mr_mode :
						 RFI_MR_UNSPEC;

	if (mode & RFI_MR_BASIC)
		return RFI_MR_BASIC;
	if (mode & RFI_MR_SCALABLE)
		return RFI_MR_SCALABLE;
	if (mr_old_api(version))
		return RFI_MR_BASIC;
	return caps & FI_RMA ? MR_RMA | (mode & FI_MR_VIRT_ADDR) : 0;
}

/* 0 when they cannot be met. */
static uint64_t caps_of(uint32_t version, const struct fi_info *hints)
{
	bool rma_ok = mr_allows_rma(version, hints);
	uint64_t caps = hints ? hints->caps : 0;

	if (caps & ~(uint64_t)CAPS_ALL) {
		reject("capabilities");
		return 0;
	}
	if (!caps)
		caps = CAPS_ALL & ~(uint64_t)CAPS_RMA_DIR & ~(uint64_t)FI_RMA;
	if (!hints || !(hints->caps & CAPS_DATA))
		caps |= FI_MSG | FI_TAGGED | (rma_ok ? FI_RMA : 0);
	if (caps & FI_RMA && !rma_ok) {
		reject("FI_RMA needs mr_mode FI_MR_PROV_KEY | FI_MR_ALLOCATED");
		return 0;
	}
	if (caps & (FI_MSG | FI_TAGGED) && !(caps & CAPS_MSG_DIR))
		caps |= CAPS_MSG_DIR;
	if (caps & FI_RMA && !(caps & CAPS_RMA_DIR))
		caps |= CAPS_RMA_DIR;
	if (!(caps & FI_RMA))
		caps &= ~(uint64_t)CAPS_RMA_DIR;
	if (caps & FI_MSG && caps & FI_RECV)
		caps |= FI_MULTI_RECV;
	return caps | CAPS_COMM;
}

/* ---- checks --------------------------------------------------------- */

static bool check_ep(const struct fi_ep_attr *h, const struct fi_ep_attr *a)
{
	if (h->type != FI_EP_UNSPEC && h->type != FI_EP_RDM)
		return reject("endpoint type");
	if (h->protocol && h->protocol != RFI_PROTO)
		return reject("protocol");
	if (h->protocol_version > RFI_PROTO_VERSION)
		return reject("protocol version");
	if (h->max_msg_size > a->max_msg_size)
		return reject("max_msg_size");
	if (h->max_order_raw_size || h->max_order_war_size ||
	    h->max_order_waw_size)
		return reject("order sizes");
	if (h->tx_ctx_cnt > 1 || h->rx_ctx_cnt > 1)
		return reject("several or shared contexts");
	if (h->auth_key_size)
		return reject("auth_key");
	return true;
}

static bool check_tx(const struct fi_tx_attr *h, const struct fi_tx_attr *a,
		     uint64_t caps)
{
	if (h->caps & ~(caps | CAPS_COMM))
		return reject("tx caps");
	if (h->op_flags & ~TX_OP_FLAGS)
		return reject("tx op_flags");
	if (h->msg_order & ~MSG_ORDER)
		return reject("tx msg_order");
	if (h->comp_order & ~(uint64_t)COMP_ORDER)
		return reject("tx comp_order");
	if (h->inject_size > a->inject_size)
		return reject("inject_size");
	if (h->size > a->size)
		return reject("tx size");
	if (h->iov_limit > a->iov_limit || h->rma_iov_limit > a->rma_iov_limit)
		return reject("tx iov_limit");
	return true;
}

static bool check_rx(const struct fi_rx_attr *h, const struct fi_rx_attr *a,
		     uint64_t caps)
{
	if (h->caps & ~(caps | CAPS_COMM))
		return reject("rx caps");
	if (h->op_flags & ~RX_OP_FLAGS)
		return reject("rx op_flags");
	if (h->msg_order & ~MSG_ORDER)
		return reject("rx msg_order");
	if (h->comp_order & ~(uint64_t)COMP_ORDER)
		return reject("rx comp_order");
	if (h->total_buffered_recv > a->total_buffered_recv)
		return reject("total_buffered_recv");
	if (h->size > a->size)
		return reject("rx size");
	if (h->iov_limit > a->iov_limit)
		return reject("rx iov_limit");
	return true;
}

static bool check_domain(const struct fi_domain_attr *h,
			 const struct fi_domain_attr *a)
{
	if (h->name && strcmp(h->name, a->name))
		return reject("domain name");
	if (h->data_progress == FI_PROGRESS_AUTO)
		return reject("automatic data progress");
	if (h->mr_key_size > a->mr_key_size)
		return reject("mr_key_size");
	if (h->cq_data_size > a->cq_data_size)
		return reject("cq_data_size");
	if (h->cq_cnt > a->cq_cnt || h->ep_cnt > a->ep_cnt ||
	    h->tx_ctx_cnt > a->tx_ctx_cnt || h->rx_ctx_cnt > a->rx_ctx_cnt ||
	    h->mr_cnt > a->mr_cnt)
		return reject("counts of the domain");
	if (h->max_ep_tx_ctx > 1 || h->max_ep_rx_ctx > 1 ||
	    h->max_ep_stx_ctx || h->max_ep_srx_ctx)
		return reject("several or shared contexts");
	if (h->cntr_cnt)
		return reject("counters");
	if (h->mr_iov_limit > a->mr_iov_limit)
		return reject("mr_iov_limit");
	if (h->caps & ~(uint64_t)CAPS_COMM)
		return reject("domain caps");
	if (h->auth_key_size || h->max_err_data)
		return reject("auth_key or max_err_data");
	return true;
}

static bool check_addr(const struct fi_info *hints)
{
	return hints->addr_format == FI_FORMAT_UNSPEC ||
	       hints->addr_format == RFI_ADDR_FORMAT || reject("addr_format");
}

static bool check_hints(const struct fi_info *hints, const struct fi_info *info)
{
	if (!check_addr(hints))
		return false;
	if (hints->ep_attr && !check_ep(hints->ep_attr, info->ep_attr))
		return false;
	if (hints->tx_attr &&
	    !check_tx(hints->tx_attr, info->tx_attr, info->caps & CAPS_TX))
		return false;
	if (hints->rx_attr &&
	    !check_rx(hints->rx_attr, info->rx_attr, info->caps & CAPS_RX))
		return false;
	if (hints->domain_attr &&
	    !check_domain(hints->domain_attr, info->domain_attr))
		return false;
	if (hints->fabric_attr && hints->fabric_attr->name &&
	    strcmp(hints->fabric_attr->name, RFI_FABRIC_NAME))
		return reject("fabric name");
	return true;
}

/* ---- the answer ----------------------------------------------------- */

static void fill_tx(struct fi_tx_attr *tx, uint64_t caps)
{
	tx->caps = caps & CAPS_TX;
	tx->msg_order = MSG_ORDER;
	tx->inject_size = rfi_inject_size();
	tx->size = RFI_TX_SIZE;
	tx->iov_limit = RFI_IOV_LIMIT;
	tx->rma_iov_limit = caps & FI_RMA ? 1 : 0;
}

static void fill_rx(struct fi_rx_attr *rx, uint64_t caps)
{
	rx->caps = caps & CAPS_RX;
	rx->msg_order = MSG_ORDER;
	rx->total_buffered_recv = SIZE_MAX;
	rx->size = RFI_RX_SIZE;
	rx->iov_limit = RFI_IOV_LIMIT;
}

static void fill_ep(struct fi_ep_attr *ep)
{
	ep->type = FI_EP_RDM;
	ep->protocol = RFI_PROTO;
	ep->protocol_version = RFI_PROTO_VERSION;
	ep->max_msg_size = ru_min(rosm_device_limits()->max_mr_size, INT64_MAX);
	ep->mem_tag_format = RFI_TAG_FORMAT;
	ep->tx_ctx_cnt = 1;
	ep->rx_ctx_cnt = 1;
}

static void fill_domain(struct fi_domain_attr *d)
{
	const struct rosm_device_limits *limits = rosm_device_limits();

	d->threading = FI_THREAD_SAFE;
	d->control_progress = FI_PROGRESS_AUTO;
	d->data_progress = FI_PROGRESS_MANUAL;
	d->resource_mgmt = FI_RM_ENABLED;
	d->av_type = FI_AV_UNSPEC;
	d->mr_key_size = MR_KEY_BYTES;
	d->cq_data_size = CQ_DATA_BYTES;
	d->cq_cnt = limits->max_cq;
	d->ep_cnt = limits->max_qp;
	d->tx_ctx_cnt = limits->max_qp;
	d->rx_ctx_cnt = limits->max_qp;
	d->max_ep_tx_ctx = 1;
	d->max_ep_rx_ctx = 1;
	d->mr_iov_limit = 1;
	d->caps = CAPS_COMM;
	d->mr_cnt = limits->max_mr;
}

/* What may be chosen freely is as the program wants it. */
static void echo_domain(struct fi_domain_attr *d,
			const struct fi_domain_attr *h)
{
	if (h->threading != FI_THREAD_UNSPEC)
		d->threading = h->threading;
	if (h->control_progress != FI_PROGRESS_UNSPEC)
		d->control_progress = h->control_progress;
	if (h->resource_mgmt != FI_RM_UNSPEC)
		d->resource_mgmt = h->resource_mgmt;
	d->av_type = h->av_type;
	d->domain = h->domain;
	d->tclass = h->tclass;
	if (h->caps)
		d->caps = h->caps;
}

static void echo_hints(struct fi_info *info, const struct fi_info *h)
{
	if (h->tx_attr) {
		info->tx_attr->op_flags = h->tx_attr->op_flags;
		info->tx_attr->comp_order = h->tx_attr->comp_order;
		info->tx_attr->tclass = h->tx_attr->tclass;
		if (h->tx_attr->size)
			info->tx_attr->size = h->tx_attr->size;
		if (h->tx_attr->caps)
			info->tx_attr->caps = h->tx_attr->caps;
	}
	if (h->rx_attr) {
		info->rx_attr->op_flags = h->rx_attr->op_flags;
		info->rx_attr->comp_order = h->rx_attr->comp_order;
		if (h->rx_attr->size)
			info->rx_attr->size = h->rx_attr->size;
		if (h->rx_attr->caps)
			info->rx_attr->caps = h->rx_attr->caps;
	}
	if (h->domain_attr)
		echo_domain(info->domain_attr, h->domain_attr);
	if (h->fabric_attr)
		info->fabric_attr->fabric = h->fabric_attr->fabric;
	info->handle = h->handle;
}

static struct fi_info *info_make(uint32_t version, uint64_t caps, int mr)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	info->caps = caps;
	info->addr_format = RFI_ADDR_FORMAT;
	fill_tx(info->tx_attr, caps);
	fill_rx(info->rx_attr, caps);
	fill_ep(info->ep_attr);
	fill_domain(info->domain_attr);
	info->domain_attr->mr_mode = mr;
	info->fabric_attr->prov_version = rfi_provider.version;
	info->fabric_attr->api_version = version;
	info->domain_attr->name = strdup(rosm_device_name());
	info->fabric_attr->name = strdup(RFI_FABRIC_NAME);
	if (!info->domain_attr->name || !info->fabric_attr->name) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

/* ---- addresses ------------------------------------------------------ */

static int addr_put(const uint8_t *addr, void **addr_out, size_t *len_out)
{
	*addr_out = malloc(ROSM_NAME_BYTES);
	if (!*addr_out)
		return -FI_ENOMEM;
	memcpy(*addr_out, addr, ROSM_NAME_BYTES);
	*len_out = ROSM_NAME_BYTES;
	return 0;
}

static int addr_from_hint(const void *hint, size_t len, void **addr_out,
			  size_t *len_out)
{
	uint8_t addr[ROSM_NAME_BYTES];

	if (!hint || !len)
		return 0;
	if (rfi_addr_valid(hint, len))
		return addr_put(hint, addr_out, len_out);
	if (rfi_addr_is_any(hint, len))
		return 0;
	if (!rfi_addr_make_sockaddr(hint, len, addr))
		return addr_put(addr, addr_out, len_out);
	if (len == sizeof(struct sockaddr_in) ||
	    len == sizeof(struct sockaddr_in6))
		return 0;	/* "any": a socket address without a port */
	reject("address");
	return -FI_ENODATA;
}

static bool node_is_numeric(const char *node)
{
	uint8_t addr[ROSM_NAME_BYTES];

	return inet_pton(AF_INET, node, addr) == 1 ||
	       inet_pton(AF_INET6, node, addr) == 1 ||
	       !rosm_name_parse(node, addr);
}

static int addr_from_strings(const char *node, const char *service,
			     uint64_t flags, void **addr_out, size_t *len_out)
{
	uint8_t addr[ROSM_NAME_BYTES];
	int ret;

	if (!node && !service)
		return 0;
	if (node && flags & FI_NUMERICHOST && !node_is_numeric(node)) {
		reject("FI_NUMERICHOST with a node name");
		return -FI_ENODATA;
	}
	ret = rfi_addr_make(node, service, addr);
	if (ret && !(flags & FI_SOURCE))
		ret = rfi_addr_make(node, "0", addr);
	if (ret)
		return flags & FI_SOURCE ? 0 : -FI_ENODATA;
	return addr_put(addr, addr_out, len_out);
}

static int info_addrs(struct fi_info *info, const char *node,
		      const char *service, uint64_t flags,
		      const struct fi_info *hints)
{
	uint8_t any[ROSM_NAME_BYTES];
	int ret;

	if (flags & FI_SOURCE)
		ret = addr_from_strings(node, service, flags, &info->src_addr,
					&info->src_addrlen);
	else
		ret = addr_from_strings(node, service, flags, &info->dest_addr,
					&info->dest_addrlen);
	if (!ret && hints && !info->src_addr)
		ret = addr_from_hint(hints->src_addr, hints->src_addrlen,
				     &info->src_addr, &info->src_addrlen);
	if (!ret && hints && !info->dest_addr)
		ret = addr_from_hint(hints->dest_addr, hints->dest_addrlen,
				     &info->dest_addr, &info->dest_addrlen);
	if (ret || info->src_addr)
		return ret;
	rfi_addr_make_any(any);
	return addr_put(any, &info->src_addr, &info->src_addrlen);
}

/* --------------------------------------------------------------------- */

int rfi_getinfo(uint32_t version, const char *node, const char *service,
		uint64_t flags, const struct fi_info *hints,
		struct fi_info **info_out)
{
	struct fi_info *info;
	uint64_t caps;
	int ret;

	if (flags & FLAG_CORE_PROV_ONLY && !ru_param_bool("ROSM_FI_LAYERING"))
		return -FI_ENODATA;
	caps = caps_of(version, hints);
	if (!caps)
		return -FI_ENODATA;
	info = info_make(version, caps, mr_mode(version, hints, caps));
	if (!info)
		return -FI_ENOMEM;
	if (hints) {
		if (!check_hints(hints, info)) {
			ret = -FI_ENODATA;
			goto free_info;
		}
		echo_hints(info, hints);
	}
	ret = info_addrs(info, node, service, flags, hints);
	if (ret)
		goto free_info;
	*info_out = info;
	return 0;

free_info:
	fi_freeinfo(info);
	return ret;
}
