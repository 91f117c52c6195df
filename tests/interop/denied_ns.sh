#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# perftest and an Open MPI job with each process in a user namespace of its own,
# and with each in a pid namespace as well: what containers without root are,
# where the network and ROSM_DIR are shared.
set -u
# shellcheck source=tests/interop/denied_lib.sh
. "${top_srcdir:?}/tests/interop/denied_lib.sh"

user='unshare --user --map-current-user'
pid="$user --pid --fork --kill-child"
for way in "$user" "$pid"; do
	$way true 2>"$tmp/why" || {
		echo "this kernel refuses: $way"
		cat "$tmp/why"
		exit 77
	}
done

for way in "$user" "$pid"; do
	# shellcheck disable=SC2086 # words
	verbs "verbs, $way" $way
	# shellcheck disable=SC2086 # words
	mpi "MPI, $way" $way
done
exit $bad
