#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# No source has more than 999 lines: long before that it holds a second noun.
. "$(dirname "$0")/lib.sh"

for f in $(sources '*.c' '*.h' '*.S' '*.sh' '*.py') $(scripts); do
	n=$(wc -l < "$root/$f")
	[ "$n" -le 999 ] || echo "$f: $n lines" >> "$tmp/findings"
done
lint_end
