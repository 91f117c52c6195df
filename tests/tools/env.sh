#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `rosm env`: what it prints has the effect of `rosm run`.
. "${top_srcdir:-.}/tests/tools/lib.sh"

# a quote and an exclamation mark in the path: shells must not see them
odd=$tmp/it\'s!
stage_built "$odd"
rosm=$odd/tools/rosm
names='LD_LIBRARY_PATH|LD_PRELOAD|FI_PROVIDER|FI_PROVIDER_PATH'
names="$names|OMPI_MCA_[a-z_]*"
pick() {
	grep -aE "^($names)=" | sort
}
LD_LIBRARY_PATH=/its/own
export LD_LIBRARY_PATH
"$rosm" run -- env | pick > "$tmp/run"
check run_sets_seven_variables is "$(lines "$tmp/run")" 7

"$rosm" env > "$tmp/variables"
(
	. "$tmp/variables"
	env
) | pick > "$tmp/sh"
check sh_form_has_the_same_effect cmp "$tmp/run" "$tmp/sh"
(
	unset LD_LIBRARY_PATH
	. "$tmp/variables"
	echo "$LD_LIBRARY_PATH"
) > "$tmp/unset"
(
	unset LD_LIBRARY_PATH
	"$rosm" run -- printenv LD_LIBRARY_PATH
) > "$tmp/unset_run"
check sh_form_leaves_no_empty_element cmp "$tmp/unset" "$tmp/unset_run"

if command -v csh > /dev/null; then
	# shellcheck disable=SC2016 # csh expands it
	PATH=$odd/tools:$PATH csh -f -c 'eval "`rosm env --csh`"; env' |
		pick > "$tmp/csh"
	check csh_form_has_the_same_effect cmp "$tmp/run" "$tmp/csh"
fi
"$rosm" env --csh > "$tmp/csh"
check csh_form_sets_every_variable is \
	"$(grep '^setenv .*;$' "$tmp/csh" | cut -d' ' -f2 | sort -u | grep -c .)" 7

"$rosm" env --module > "$tmp/module"
check module_begins_with_its_mark is "$(head -n 1 "$tmp/module")" '#%Module1.0'
check module_prepends_to_three_lists is \
	"$(grep ^prepend-path "$tmp/module" | cut -d' ' -f2 | sort -u | tr '\n' ' ')" \
	'FI_PROVIDER_PATH LD_LIBRARY_PATH LD_PRELOAD '
check module_sets_four_variables is "$(grep -c ^setenv "$tmp/module")" 4

"$rosm" env --no-mpi --no-verbs > "$tmp/less"
check options_leave_faces_out is \
	"$(grep -c 'LD_PRELOAD\|OMPI\|verbs' "$tmp/less")" 0
check options_leave_the_provider_in has "$tmp/less" 'FI_PROVIDER='
finish
