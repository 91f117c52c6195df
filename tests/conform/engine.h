/* SPDX-License-Identifier: BSD-2-Clause */
/* The two transports of the engine as faces: RC queue pairs and RD. */
#ifndef TESTS_CONFORM_ENGINE_H
#define TESTS_CONFORM_ENGINE_H

#include "tests/conform/face.h"

extern const struct face face_engine_rc;
extern const struct face face_engine_rd;

/* Of both: what the engine does not carry. */
int engine_refusal(const char *what);

#endif
