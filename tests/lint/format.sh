#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The part of the house style in C that no one argues about: tabs, no blank at a
# line's end, a blank after a keyword, comments in /* */, the brace of a
# function on a line of its own, at most 100 columns (80 where it goes). The
# rest is what .clang-format proposes for new code.
. "$(dirname "$0")/lib.sh"

sources '*.c' '*.h' > "$tmp/list"
# shellcheck disable=SC2016 # awk's $0
(cd "$root" && xargs -r awk '
	function no(why) { printf "%s:%d: %s\n", FILENAME, FNR, why }
	function columns(line,	n, at) {
		while (at = index(line, "\t")) {
			n += at - 1; n += 8 - n % 8
			line = substr(line, at + 1)
		}
		return n + length(line)
	}
	FNR == 1 { if (NR > 1 && last == "") print file ": an empty line at the end" }
	{ code = $0; gsub(/"([^"\\]|\\.)*"/, "\"\"", code) }
	columns($0) > 100 { no(columns($0) " columns") }
	/[ \t]$/ { no("blanks at the end of the line") }
	/^\t*        / { no("blanks where a tab belongs") }
	code ~ /(^|[^A-Za-z0-9_])(if|for|while|switch)\(/ { no("no blank after a keyword") }
	code ~ /^[^*]*\/\// { no("a comment of //") }
	/^[A-Za-z_].*[)] *\{$/ { no("a function\047s brace on its line") }
	/^$/ && last == "" && FNR > 1 { no("two empty lines") }
	{ last = $0; file = FILENAME }
	END { if (NR && last == "") print file ": an empty line at the end" }
' < "$tmp/list") >> "$tmp/findings"
lint_end
