#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Memory-ordering labels: a release "R-name" in a comment has its acquire
# "A-name" and the other way round, both are listed in docs/memory-ordering.md,
# and what is listed there exists.
. "$(dirname "$0")/lib.sh"

doc=$root/docs/memory-ordering.md
words() {
	grep -ohE '(^|[^A-Za-z0-9_-])[RA]-[a-z][a-z0-9_]*' "$@" /dev/null |
		sed -E 's/^[^RA]*([RA]-)/\1/' | sort -u
}

sources '*.c' '*.h' '*.S' |
	grep -E '^(util|engine|prov|verbs-compat|tools)/' > "$tmp/list"
(cd "$root" && while read -r f; do words "$f"; done < "$tmp/list") |
	sort -u > "$tmp/code"
if [ -f "$doc" ]; then words "$doc"; fi |
	grep -vxE '[RA]-(xxx|name)' > "$tmp/doc"

where() { (cd "$root" && xargs grep -lE -- "(^|[^A-Za-z0-9_-])$1\b" < "$tmp/list" | head -n 1); }

# shellcheck disable=SC2094 # findings are another file
while read -r label; do
	case $label in R-*) other=A-${label#R-} ;; *) other=R-${label#A-} ;; esac
	grep -qx -- "$other" "$tmp/code" ||
		echo "$(where "$label"): $label has no $other"
	grep -qx -- "$label" "$tmp/doc" ||
		echo "$(where "$label"): $label is not in docs/memory-ordering.md"
done < "$tmp/code" >> "$tmp/findings"
while read -r label; do
	grep -qx -- "$label" "$tmp/code" ||
		echo "docs/memory-ordering.md: $label is nowhere in the code"
done < "$tmp/doc" >> "$tmp/findings"
lint_end
