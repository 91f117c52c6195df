/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A libpsm_infinipath.so.1 that says "not initialised" to every call, for the
 * programs that `rosm run` starts on machines without such an HCA.
 *
 * Debian's libfabric is linked with PSM 1, whose libinfinipath times the CPU's
 * clock in a constructor, before main(): 0.1 s and 860 sleeps a process, all
 * bound to CPU 0, again up to ten times where it distrusts the result; and it
 * takes over SIGSEGV, SIGBUS, SIGINT and others. No variable turns that off.
 * With this object in its place neither happens, and libfabric's provider psm
 * finds nothing, which FI_PROVIDER=rosm would not have used. On 2 cores
 * `fi_info -l` takes 0.28 s without it and 0.18 s with it.
 *
 * The functions take their arguments in registers that they do not look at,
 * so they are declared without; what is returned matters alone. Names: psm(3)
 * of the library that this stands for.
 */
#include <config.h>

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* PSM_INIT_NOT_INIT */
enum { NOT_INITIALISED = 5 };

#define REFUSE(name)                                                           \
	EXPORT int name(void);                                                 \
	EXPORT int name(void)                                                  \
	{                                                                      \
		return NOT_INITIALISED;                                        \
	}

REFUSE(psm_am_get_parameters)
REFUSE(psm_am_register_handlers)
REFUSE(psm_am_reply_short)
REFUSE(psm_am_request_short)
REFUSE(psm_ep_close)
REFUSE(psm_ep_connect)
REFUSE(psm_ep_epid_lookup)
REFUSE(psm_ep_epid_share_memory)
REFUSE(psm_ep_num_devunits)
REFUSE(psm_ep_open)
REFUSE(psm_ep_open_opts_get_defaults)
REFUSE(psm_ep_query)
REFUSE(psm_error_defer)
REFUSE(psm_error_register_handler)
REFUSE(psm_finalize)
REFUSE(psm_getopt)
REFUSE(psm_init)
REFUSE(psm_map_nid_hostname)
REFUSE(psm_mq_cancel)
REFUSE(psm_mq_finalize)
REFUSE(psm_mq_getopt)
REFUSE(psm_mq_init)
REFUSE(psm_mq_ipeek)
REFUSE(psm_mq_iprobe)
REFUSE(psm_mq_irecv)
REFUSE(psm_mq_isend)
REFUSE(psm_mq_send)
REFUSE(psm_mq_setopt)
REFUSE(psm_mq_test)
REFUSE(psm_mq_wait)
REFUSE(psm_poll)
REFUSE(psm_setopt)

/* Those that return no error code: nothing, a null pointer, zero. */
#define NOTHING(name)                                                          \
	EXPORT void *name(void);                                               \
	EXPORT void *name(void)                                                \
	{                                                                      \
		return NULL;                                                   \
	}

NOTHING(psm_epaddr_getctxt)
NOTHING(psm_epaddr_setctxt)
NOTHING(psm_epaddr_setlabel)
NOTHING(psm_epid_context)
NOTHING(psm_epid_nid)
NOTHING(psm_epid_port)
NOTHING(psm_mq_get_stats)
NOTHING(psm_uuid_generate)

EXPORT const char *psm_error_get_string(int error);
EXPORT const char *psm_error_get_string(int error)
{
	return error ? "PSM is not there: rosm stands in its place" : "no error";
}
