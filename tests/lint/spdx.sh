#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Each source names its licence in its first line, scripts in their second.
. "$(dirname "$0")/lib.sh"

{
	sources '*.c' '*.h' '*.S' '*.sh' '*.py' '*.awk' '*.map' '*.ac' '*.am' \
		'*.include' rosm.m4
	scripts
} | sort -u > "$tmp/list"
# shellcheck disable=SC2016 # awk's $0
(cd "$root" && xargs -r awk '
	/SPDX-License-Identifier: BSD-2-Clause/ &&
		(FNR == 1 || FNR == 2 && first ~ /^#!/) { print FILENAME }
	FNR == 1 { first = $0 }
	FNR == 2 { nextfile }' < "$tmp/list") > "$tmp/good"
grep -vxF -f "$tmp/good" "$tmp/list" |
	sed 's/$/: no SPDX line first/' >> "$tmp/findings"
lint_end
