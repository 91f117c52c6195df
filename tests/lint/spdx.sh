#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Each source names its licence in its first line, scripts in their second.
. "$(dirname "$0")/lib.sh"

{
	sources '*.c' '*.h' '*.S' '*.sh' '*.py' '*.awk' '*.map' '*.ac' '*.am' \
		'*.include' rosm.m4
	scripts
} | sort -u | while read -r f; do
	head -n 2 "$root/$f" |
		awk '/SPDX-License-Identifier: BSD-2-Clause/ &&
		     (NR == 1 || first ~ /^#!/) { ok = 1 }
		     NR == 1 { first = $0 }
		     END { exit !ok }' ||
		echo "$f: no SPDX line first" >> "$tmp/findings"
done
lint_end
