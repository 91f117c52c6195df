#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Bytes that another process maps are declared in engine/wire/ and nowhere
# else, of fixed-width integers only, and each struct asserts its size.
. "$(dirname "$0")/lib.sh"

for f in $(sources '*.c' '*.h' | grep -v '^engine/wire/'); do
	grep -nE '^[[:space:]]*struct rosm_wire_[a-z0-9_]+[[:space:]]*\{' \
		"$root/$f" | sed "s,^,$f:," >> "$tmp/findings"
done

for f in $(sources '*.h' | grep '^engine/wire/'); do
	# Comments out, line numbers kept; then only what is inside a struct.
	awk -v f="$f" '
	{
		line = $0
		gsub(/\/\*[^*]*(\*[^\/*][^*]*)*\*\//, "", line)
		if (comment) {
			if (!match(line, /\*\//)) next
			line = substr(line, RSTART + 2); comment = 0
		}
		if (match(line, /\/\*/)) {
			line = substr(line, 1, RSTART - 1); comment = 1
		}
		sub(/\/\/.*/, "", line)
		if (!depth && line ~ /^[ \t]*#/) next
		if (!depth && line ~ /^(struct|union)[^;()]*\{/) {
			name = line; sub(/^[a-z]+ +/, "", name)
			sub(/[ \t]*\{.*/, "", name)
			top = 1
		}
		if (!depth && !top) next
		if (depth && line ~ /\*|(^|[^A-Za-z0-9_])(bool|_Bool|enum|size_t|ssize_t|pid_t|int|unsigned|long|short|float|double|volatile|packed|time_t|off_t|uintptr_t|intptr_t|ptrdiff_t)([^A-Za-z0-9_]|$)/)
			printf "%s:%d: %s: only fixed-width integers here:%s\n", f, FNR, name, line
		n = gsub(/\{/, "{", line); m = gsub(/\}/, "}", line)
		depth += n - m
		if (top && !depth) { print name > names; top = 0 }
	}' names="$tmp/names" "$root/$f" >> "$tmp/findings"
	[ -f "$tmp/names" ] || continue
	while read -r name; do
		grep -qE "[sS]tatic_assert\(sizeof\((struct|union) $name\)" "$root/$f" ||
			echo "$f: $name: its size is not asserted" >> "$tmp/findings"
	done < "$tmp/names"
	rm -f "$tmp/names"
done
lint_end
