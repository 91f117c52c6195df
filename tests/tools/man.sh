#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The manual pages are well-formed and of one house.
# shellcheck disable=SC2016,SC2317 # functions are called by check
. "${top_srcdir:-.}/tests/tools/lib.sh"
if ! command -v mandoc > /dev/null; then
	echo "mandoc is not installed"
	exit 77
fi

lint() {
	mandoc -Tlint -W warning "$1" > "$tmp/lint" 2> /dev/null && return
	sed 's/^/  | /' "$tmp/lint"
	return 1
}
for page in "$src"/docs/man/*.[1-9] "$top/docs/man/rosm.7"; do
	[ -e "$page" ] || continue
	check "${page##*/}_is_well_formed" lint "$page"
done
check there_are_three_pages [ "$n" -ge 3 ]

echo '.Dd today' > "$tmp/bad.1"
check bad_page_is_found eval '! lint "$tmp/bad.1"'
finish
