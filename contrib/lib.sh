#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
echo "not written yet" >&2
exit 1
