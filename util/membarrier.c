/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registration for, and use of, membarrier(GLOBAL_EXPEDITED): see
 * membarrier.h. The state is a word that each thread may set to the same
 * value; registering twice is harmless. The verdict is logged once.
 */
#include <config.h>

#include "util/membarrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/fault.h"
#include "util/log.h"

/* 1: not asked yet; 0: registered; negative: the errno of the refusal. */
static atomic_int verdict = 1;

static int call_membarrier(int cmd)
{
	int saved = errno;
	int rc = 0;

	if (syscall(SYS_membarrier, cmd, 0, 0))
		rc = -errno;
	errno = saved;
	return rc;
}

int ru_membarrier_init(void)
{
	int rc = atomic_load_explicit(&verdict, memory_order_relaxed);

	if (ru_likely(rc <= 0))
		return rc;
	rc = RU_FAIL_POINT("membarrier.register") ? -ENOSYS :
	     call_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
	if (!rc)	/* registered, but does the barrier itself work? */
		rc = call_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
	if (rc)
		RU_INFO("membarrier", "not available (errno %d): fences on "
			"both sides instead", -rc);
	else
		RU_INFO("membarrier", "global expedited barrier in use");
	atomic_store_explicit(&verdict, rc, memory_order_relaxed);
	return rc;
}

bool ru_membarrier_available(void)
{
	return !ru_membarrier_init();
}

void ru_membarrier(void)
{
	ru_fence();
	if (!ru_membarrier_init())
		call_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}
