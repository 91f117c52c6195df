/* SPDX-License-Identifier: BSD-2-Clause */
/* The program that runs scripts on the engine's own calls. */
#include <config.h>

#include "tests/conform/engine.h"

#include <errno.h>

const struct face *const faces[] = { &face_engine_rc, &face_engine_rd, NULL };

void face_program_init(void)
{
}

/* Each operation that has landed is one of the engine's. */
int engine_refusal(const char *what)
{
	(void)what;
	return 0;
}
