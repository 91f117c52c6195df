#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# No source has more than 999 lines: long before that it holds a second noun.
. "$(dirname "$0")/lib.sh"

{
	sources '*.c' '*.h' '*.S' '*.sh' '*.py'
	scripts
} | sort -u | (cd "$root" && xargs -r awk '
	FNR == 1000 { long[FILENAME] = 1 }
	{ lines[FILENAME] = FNR }
	END { for (f in long) printf "%s: %d lines\n", f, lines[f] }') \
	>> "$tmp/findings"
lint_end
