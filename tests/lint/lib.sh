# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
#
# Shared by the lint tests. Each works on the tree named by LINT_ROOT (default:
# the source tree under test) and prints one line a finding; lint_end turns
# findings into the exit status. lint_test.sh shows each of them a bad tree.

root=${LINT_ROOT:-${top_srcdir:-.}}
root=$(cd "$root" && pwd) || exit 99
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rosm-lint.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
: > "$tmp/findings"

# sources PATTERN...: files of the project by name, paths from the root, sorted.
# What a build or autoreconf in the tree wrote is left out.
sources() {
	(
		cd "$root" || exit 99
		for pattern; do
			find . \( -name .git -o -name build-aux -o -name _build \
				-o -name autom4te.cache -o -name 'build*' \) \
				-prune -o -type f -name "$pattern" \
				! -name '*~' -print
		done | sed 's,^\./,,' | grep -v '^rosm-[0-9]' | sort -u
	)
}

# Scripts by extension and by their first line.
scripts() {
	{
		sources '*.sh'
		sources '*' | grep -vE '\.(c|h|md|am|in)$' |
			grep -vxE 'configure|config.status|libtool' |
			(cd "$root" && xargs -r awk '
				FNR == 1 && /^#!.*[^a-z](ba|da)?sh( |$)/ {
					print FILENAME }
				FNR == 1 { nextfile }')
	} | sort -u
}

lint_end() {
	cat "$tmp/findings"
	[ ! -s "$tmp/findings" ]
	exit
}
