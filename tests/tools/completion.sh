#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The completion for bash offers what the command understands.
. "${top_srcdir:-.}/tests/tools/lib.sh"

# offers LINE...: the words offered for the last word of the line, sorted
offers() {
	bash -c '
	. "$1"
	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_rosm
	printf "%s\n" "${COMPREPLY[@]}" | sort | tr "\n" " "
	' bash "$src/tools/completion/rosm" "$@"
}
check subcommands_are_offered is "$(offers rosm '')" \
	'--help --version clean env info params run stat '
check prefix_selects is "$(offers rosm st)" 'stat '
check options_of_run is "$(offers rosm run --n)" '--no-mpi --no-verbs '
check commands_after_dashes has "$(offers rosm run -- tru > "$tmp/o"; \
	echo "$tmp/o")" '\<true\>'
check options_of_env is "$(offers rosm env --m)" '--module '
check pids_of_stat has "$(offers rosm stat $$ > "$tmp/o"; echo "$tmp/o")" \
	"\\<$$\\>"
check nothing_after_clean is "$(offers rosm clean x)" ' '
finish
