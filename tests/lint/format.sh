#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The part of the house style in C that no one argues about: tabs, no blank at a
# line's end, a blank after a keyword, comments in /* */, the brace of a
# function on a line of its own, at most 100 columns (80 where it goes). The
# rest is what .clang-format proposes for new code.
. "$(dirname "$0")/lib.sh"

for f in $(sources '*.c' '*.h'); do
	expand "$root/$f" | awk -v f="$f" 'length > 100 {
		printf "%s:%d: %d columns\n", f, FNR, length }'
	awk -v f="$f" '
	function no(why) { printf "%s:%d: %s\n", f, FNR, why }
	{ code = $0; gsub(/"([^"\\]|\\.)*"/, "\"\"", code) }
	/[ \t]$/ { no("blanks at the end of the line") }
	/^\t*        / { no("blanks where a tab belongs") }
	code ~ /(^|[^A-Za-z0-9_])(if|for|while|switch)\(/ { no("no blank after a keyword") }
	code ~ /^[^*]*\/\// { no("a comment of //") }
	/^[A-Za-z_].*[)] *\{$/ { no("a function'\''s brace on its line") }
	/^$/ && last == "" && FNR > 1 { no("two empty lines") }
	{ last = $0 }
	END { if (FNR && last == "") no("an empty line at the end") }' "$root/$f"
done >> "$tmp/findings"
lint_end
