#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# across.sh fails when it must: each script of tests/conform/wrong is wrong in
# one way, and its line "#! TEXT" says what the report must name. And
# docs/conformance.md lists all the right ones.
set -u

here=$(dirname "$0")
out=$(mktemp "${TMPDIR:-/tmp}/rosm-conform.XXXXXX") || exit 99
trap 'rm -f "$out"' EXIT
trap 'exit 1' HUP INT TERM
bad=0
n=0

for s in "$here"/wrong/*.txt; do
	want=$(sed -n 's/^#! //p' "$s")
	n=$((n + 1))
	if sh "$here/across.sh" "$s" > "$out" 2>&1; then
		echo "${s##*/}: passed"
		bad=1
	elif [ -z "$want" ] || ! grep -q -e "$want" "$out"; then
		echo "${s##*/}: the report does not say \"$want\":"
		cat "$out"
		bad=1
	fi
done
[ "$n" -gt 0 ] || bad=1

# A script that nobody can find in the list is not known to be run.
for s in "$here"/scripts/*.txt; do
	s=${s##*/}
	grep -q -w -e "${s%.txt}" "$here/../../docs/conformance.md" || {
		echo "docs/conformance.md does not list ${s%.txt}"
		bad=1
	}
done
echo "$n wrong scripts"
exit "$bad"
