#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Each header compiles alone, with nothing but config.h before it.
. "$(dirname "$0")/lib.sh"

config=${top_builddir:-.}/config.h
[ -f "$config" ] || { echo "no config.h: run by make check"; exit 99; }

for f in $(sources '*.h' | grep '/'); do
	printf '#include <config.h>\n#include "%s"\n' "$f" > "$tmp/alone.c"
	# shellcheck disable=SC2086 # both are lists of words
	timeout -k 2 60 ${CC:-cc} -std=gnu11 -Wall -Wextra -Werror \
		-Wno-unused-function -fsyntax-only -I"$root" \
		${ROSM_TEST_CPPFLAGS:-} -I"$(dirname "$config")" \
		"$tmp/alone.c" > "$tmp/out" 2>&1 || {
		echo "$f: does not compile alone"
		head -n 5 "$tmp/out"
	} >> "$tmp/findings"
done
lint_end
