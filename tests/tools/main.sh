#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The command itself: version, help, and how it refuses.
# shellcheck disable=SC2016,SC2317 # functions are called by check
. "${top_srcdir:-.}/tests/tools/lib.sh"
rosm=$top/tools/rosm

version=$(sed -n 's/^#define PACKAGE_VERSION "\(.*\)"/\1/p' "$top/config.h")
check version_is_the_configured_one is "$("$rosm" --version)" "rosm $version"

"$rosm" --help > "$tmp/help"
check help_succeeds is $? 0
for sub in run env info stat params clean; do
	check "help_names_$sub" has "$tmp/help" "rosm $sub"
	check "manual_describes_$sub" has "$src/docs/man/rosm.1" "Ss rosm $sub"
	check "completion_offers_$sub" has "$src/tools/completion/rosm" \
		"words='.*\<$sub\>"
done

refuses() {
	"$rosm" "$@" > "$tmp/out" 2> "$tmp/err"
	is "$?" "$want" && is "$(lines "$tmp/err")" 1 &&
		is "$(lines "$tmp/out")" 0 && has "$tmp/err" '^rosm: '
}
want=2
check no_subcommand_is_refused refuses
check unknown_subcommand_is_refused refuses frobnicate
check env_refuses_unknown_option refuses env --fish
check params_refuses_argument refuses params x
check info_refuses_argument refuses info x
check stat_refuses_word refuses stat notapid
check stat_refuses_zero refuses stat 0
check stat_refuses_two_pids refuses stat 1 2
check stat_refuses_pid_of_ended refuses stat --ended 1
check clean_refuses_argument refuses clean x
want=125
check run_refuses_unknown_option refuses run --fast true
check run_needs_a_command refuses run
check run_needs_a_command_after_dashes refuses run --

full_disk() {
	"$rosm" "$@" > /dev/full 2> "$tmp/err"
	is "$?" 1 && has "$tmp/err" '^rosm: standard output: '
}
check full_disk_is_a_failure full_disk params
check full_disk_is_a_failure_of_help full_disk --help

finish
