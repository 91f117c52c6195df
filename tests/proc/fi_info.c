/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fi_getinfo answers: the hints that Open MPI, fabtests and others give,
 * what is echoed, what is refused, the private bit of utility providers, and
 * node and service strings.
 */
#include <config.h>

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/proc/fi_end.h"

#define CORE_PROV_ONLY	(UINT64_C(1) << 59)
#define MR_BASIC_BITS	(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

static struct fi_info *hints_with(uint64_t caps, int mr_mode)
{
	struct fi_info *h = fi_allocinfo();

	assert_non_null(h);
	h->caps = caps;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	h->ep_attr->type = FI_EP_RDM;
	h->domain_attr->mr_mode = mr_mode;
	return h;
}

/* The one answer, which is to be freed; frees the hints. */
static struct fi_info *ask(uint32_t api, struct fi_info *hints)
{
	struct fi_info *info = NULL;

	assert_int_equal(fi_getinfo(api, NULL, NULL, 0, hints, &info), 0);
	assert_string_equal(info->fabric_attr->prov_name, "rosm");
	assert_null(info->next);
	fi_freeinfo(hints);
	return info;
}

static void refused(uint32_t api, struct fi_info *hints)
{
	struct fi_info *info = NULL;

	assert_int_equal(fi_getinfo(api, NULL, NULL, 0, hints, &info),
			 -FI_ENODATA);
	fi_freeinfo(hints);
}

static void no_hints_give_everything(void **state)
{
	struct fi_info *i = ask(fi_version(), NULL);
	const uint64_t all = FI_MSG | FI_TAGGED | FI_RMA | FI_DIRECTED_RECV |
			     FI_SOURCE | FI_MULTI_RECV | FI_LOCAL_COMM |
			     FI_REMOTE_COMM;

	(void)state;
	assert_int_equal(i->caps & all, all);
	assert_int_equal(i->ep_attr->type, FI_EP_RDM);
	assert_int_equal(i->domain_attr->mr_mode,
			 FI_MR_PROV_KEY | FI_MR_ALLOCATED);
	assert_int_equal(i->tx_attr->iov_limit, 8);
	assert_int_equal(i->tx_attr->rma_iov_limit, 1);
	assert_int_equal(i->domain_attr->cq_data_size, 8);
	assert_int_equal(i->domain_attr->max_ep_tx_ctx, 1);
	fi_freeinfo(i);
}

/* As Open MPI 4.1.4's mtl/ofi asks. */
static void open_mpi_mtl_gets_an_answer_with_its_choices(void **state)
{
	struct fi_info *h = hints_with(FI_TAGGED | FI_LOCAL_COMM |
				       FI_REMOTE_COMM | FI_DIRECTED_RECV, 0);
	struct fi_info *i;

	(void)state;
	h->tx_attr->msg_order = FI_ORDER_SAS;
	h->rx_attr->msg_order = FI_ORDER_SAS;
	h->tx_attr->op_flags = FI_COMPLETION;
	h->rx_attr->op_flags = FI_COMPLETION;
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	h->domain_attr->av_type = FI_AV_MAP;
	h->domain_attr->cq_data_size = 4;
	i = ask(FI_VERSION(1, 5), h);
	assert_int_equal(i->caps & FI_RMA, 0);
	assert_int_equal(i->caps & FI_MSG, 0);
	assert_int_equal(i->domain_attr->mr_mode, 0);
	assert_int_equal(i->domain_attr->threading, FI_THREAD_DOMAIN);
	assert_int_equal(i->domain_attr->av_type, FI_AV_MAP);
	assert_int_equal(i->domain_attr->cq_data_size, 8);
	assert_int_equal(i->tx_attr->op_flags, FI_COMPLETION);
	fi_freeinfo(i);
}

static void choices_are_echoed(void **state)
{
	static const enum fi_threading threads[] = {
		FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_DOMAIN,
		FI_THREAD_COMPLETION, FI_THREAD_ENDPOINT,
	};
	struct fi_info *h, *i;
	size_t t;

	(void)state;
	for (t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
		h = hints_with(FI_MSG | FI_RMA, MR_BASIC_BITS);
		h->domain_attr->threading = threads[t];
		h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
		h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
		h->domain_attr->av_type = FI_AV_TABLE;
		i = ask(FI_END_API, h);
		assert_int_equal(i->domain_attr->threading, threads[t]);
		assert_int_equal(i->domain_attr->control_progress,
				 FI_PROGRESS_MANUAL);
		assert_int_equal(i->domain_attr->av_type, FI_AV_TABLE);
		assert_int_equal(i->domain_attr->mr_mode, MR_BASIC_BITS);
		fi_freeinfo(i);
	}
}

static void rma_needs_keys_of_the_provider(void **state)
{
	struct fi_info *i;

	(void)state;
	refused(FI_END_API, hints_with(FI_RMA, 0));
	refused(FI_END_API, hints_with(FI_RMA, FI_MR_SCALABLE));
	refused(FI_END_API, hints_with(FI_RMA, FI_MR_VIRT_ADDR));
	i = ask(FI_END_API, hints_with(FI_RMA, MR_BASIC_BITS | FI_MR_LOCAL |
				       FI_MR_ENDPOINT));
	assert_int_equal(i->domain_attr->mr_mode, MR_BASIC_BITS);
	fi_freeinfo(i);
	i = ask(FI_END_API, hints_with(FI_RMA, FI_MR_BASIC));
	assert_int_equal(i->domain_attr->mr_mode, FI_MR_BASIC);
	fi_freeinfo(i);
	/* what was not asked for does not stand in the way */
	i = ask(FI_END_API, hints_with(0, 0));
	assert_int_equal(i->caps & FI_RMA, 0);
	assert_int_equal(i->caps & FI_TAGGED, FI_TAGGED);
	fi_freeinfo(i);
}

static void old_programs_get_the_old_mr_modes(void **state)
{
	struct fi_info *i;

	(void)state;
	i = ask(FI_VERSION(1, 4), hints_with(FI_RMA, FI_MR_UNSPEC));
	assert_int_equal(i->domain_attr->mr_mode, FI_MR_BASIC);
	fi_freeinfo(i);
	i = ask(FI_VERSION(1, 4), hints_with(FI_RMA, FI_MR_BASIC));
	assert_int_equal(i->domain_attr->mr_mode, FI_MR_BASIC);
	fi_freeinfo(i);
	refused(FI_VERSION(1, 4), hints_with(FI_RMA, FI_MR_SCALABLE));
}

static void what_cannot_be_met_is_refused(void **state)
{
	struct fi_info *h;

	(void)state;
	refused(FI_END_API, hints_with(FI_MSG | FI_ATOMIC, MR_BASIC_BITS));
	refused(FI_END_API, hints_with(FI_MSG | FI_TRIGGER, 0));
	h = hints_with(FI_MSG, 0);
	h->ep_attr->type = FI_EP_MSG;
	refused(FI_END_API, h);
	h = hints_with(FI_MSG, 0);
	h->domain_attr->data_progress = FI_PROGRESS_AUTO;
	refused(FI_END_API, h);
	h = hints_with(FI_MSG, 0);
	h->tx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_RAW;
	refused(FI_END_API, h);
	h = hints_with(FI_MSG, 0);
	h->tx_attr->inject_size = 1 << 20;
	refused(FI_END_API, h);
	h = hints_with(FI_MSG, 0);
	h->tx_attr->iov_limit = 9;
	refused(FI_END_API, h);
	h = hints_with(FI_MSG, 0);
	h->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	refused(FI_END_API, h);
	h = hints_with(FI_MSG, 0);
	h->addr_format = FI_SOCKADDR_IN;
	refused(FI_END_API, h);
	h = hints_with(FI_MSG, 0);
	h->domain_attr->name = strdup("another");
	refused(FI_END_API, h);
}

static void an_answer_is_accepted_as_hints(void **state)
{
	struct fi_info *i = ask(FI_END_API, NULL), *again;

	(void)state;
	again = ask(FI_END_API, fi_dupinfo(i));
	assert_int_equal(again->caps, i->caps);
	assert_int_equal(again->domain_attr->mr_mode, i->domain_attr->mr_mode);
	fi_freeinfo(again);
	fi_freeinfo(i);
}

static void utility_providers_find_nothing(void **state)
{
	struct fi_info *i = NULL;

	(void)state;
	assert_int_equal(fi_getinfo(FI_END_API, NULL, NULL, CORE_PROV_ONLY,
				    NULL, &i), -FI_ENODATA);
	setenv("ROSM_FI_LAYERING", "1", 1);
	assert_int_equal(fi_getinfo(FI_END_API, NULL, NULL, CORE_PROV_ONLY,
				    NULL, &i), 0);
	unsetenv("ROSM_FI_LAYERING");
	fi_freeinfo(i);
}

static void node_and_service_become_addresses(void **state)
{
	struct fi_info *a, *b, *h, *none = NULL;
	struct sockaddr_in in = { .sin_family = AF_INET };

	(void)state;
	assert_int_equal(fi_getinfo(FI_END_API, "127.0.0.1", "9228", 0, NULL,
				    &a), 0);
	assert_int_equal(a->dest_addrlen, 64);
	assert_int_equal(a->src_addrlen, 64);	/* "any" */
	assert_int_equal(fi_getinfo(FI_END_API, "localhost", "9228", FI_SOURCE,
				    NULL, &b), 0);
	assert_int_equal(b->src_addrlen, 64);
	assert_null(b->dest_addr);
	/* both mean this node */
	assert_memory_equal(a->dest_addr, b->src_addr, 64);
	fi_freeinfo(b);

	in.sin_port = htons(9228);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	h = hints_with(FI_MSG, 0);
	h->src_addr = malloc(sizeof(in));
	memcpy(h->src_addr, &in, sizeof(in));
	h->src_addrlen = sizeof(in);
	assert_int_equal(fi_getinfo(FI_END_API, "elsewhere.test", "9228", 0, h,
				    &b), 0);
	assert_memory_equal(a->dest_addr, b->src_addr, 64);
	assert_memory_not_equal(a->dest_addr, b->dest_addr, 64);
	assert_int_equal(fi_getinfo(FI_END_API, "elsewhere.test", "1",
				    FI_NUMERICHOST, h, &none), -FI_ENODATA);
	fi_freeinfo(h);
	fi_freeinfo(a);
	fi_freeinfo(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_hints_give_everything),
		cmocka_unit_test(open_mpi_mtl_gets_an_answer_with_its_choices),
		cmocka_unit_test(choices_are_echoed),
		cmocka_unit_test(rma_needs_keys_of_the_provider),
		cmocka_unit_test(old_programs_get_the_old_mr_modes),
		cmocka_unit_test(what_cannot_be_met_is_refused),
		cmocka_unit_test(an_answer_is_accepted_as_hints),
		cmocka_unit_test(utility_providers_find_nothing),
		cmocka_unit_test(node_and_service_become_addresses),
	};

	fi_end_load();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
