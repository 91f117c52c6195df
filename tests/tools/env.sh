#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `rosm env`: what it prints has the effect of `rosm run`.
. "${top_srcdir:-.}/tests/tools/lib.sh"

# a quote and an exclamation mark in the path: shells must not see them
stage_built "$tmp/it's!"
rosm="$tmp/it's!/tools/rosm"
names='LD_LIBRARY_PATH|LD_PRELOAD|FI_PROVIDER|FI_PROVIDER_PATH|IPATH_[A-Z_]*'
names="$names|OMPI_MCA_[a-z_]*"
pick() {
	grep -aE "^($names)=" | sort
}
LD_LIBRARY_PATH=/its/own
export LD_LIBRARY_PATH
"$rosm" run -- env | pick > "$tmp/run"
check run_sets_eight_variables is "$(lines "$tmp/run")" 8

"$rosm" env > "$tmp/env.sh"
(
	. "$tmp/env.sh"
	env
) | pick > "$tmp/sh"
check sh_form_has_the_same_effect cmp "$tmp/run" "$tmp/sh"
(
	unset LD_LIBRARY_PATH
	. "$tmp/env.sh"
	echo "$LD_LIBRARY_PATH"
) > "$tmp/unset"
check sh_form_leaves_no_empty_element is "$(cat "$tmp/unset")" \
	"$tmp/it's!/verbs-compat/.libs"

if command -v csh > /dev/null; then
	printf 'eval `"%s" env --csh`\nenv\n' "$rosm" > "$tmp/env.csh"
	csh -f "$tmp/env.csh" | pick > "$tmp/csh"
	check csh_form_has_the_same_effect cmp "$tmp/run" "$tmp/csh"
fi
"$rosm" env --csh > "$tmp/csh"
check csh_form_sets_every_variable is "$(grep -c '^setenv .*;$' "$tmp/csh")" 8

"$rosm" env --module > "$tmp/module"
check module_begins_with_its_mark is "$(head -n 1 "$tmp/module")" '#%Module1.0'
check module_prepends_three_lists is "$(grep -c ^prepend-path "$tmp/module")" 3
check module_sets_five_variables is "$(grep -c ^setenv "$tmp/module")" 5

"$rosm" env --no-mpi --no-verbs > "$tmp/less"
check options_leave_faces_out is "$(lines "$tmp/less")" 3
finish
