#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Programs that were linked with the system's libibverbs start with ours in its
# place, with the system's library behind it and without one. The loader is
# asked which library each of them got.
set -u

dir=${top_builddir:?}/verbs-compat/.libs
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
bad=0
ran=0

# try STATUS WHAT-IT-PRINTS COMMAND...; STATUS is '-' where it does not matter
try() {
	status=$1
	want=$2
	shift 2
	command -v "$1" >/dev/null || return 0
	ran=$((ran + 1))
	for system in '' none; do
		# The loader's log goes to log.<pid>: keep one per process.
		rm -f "$tmp"/log*
		LD_LIBRARY_PATH=$dir ROSM_VERBS_SYSTEM=$system LD_DEBUG=libs \
			LD_DEBUG_OUTPUT=$tmp/log timeout -k 2 20 "$@" \
			>"$tmp/out" 2>&1
		rc=$?
		if [ "$status" != - ] && [ $rc -ne "$status" ]; then
			echo "$* (system: ${system:-found}): status $rc"
			cat "$tmp/out"
			bad=1
		fi
		if ! grep -q "$want" "$tmp/out"; then
			echo "$*: no '$want' in its output:"
			cat "$tmp/out"
			bad=1
		fi
		if grep -E 'symbol lookup|undefined symbol|version .* not' \
			"$tmp/out"; then
			bad=1
		fi
		if ! cat "$tmp"/log* |
			grep -q "calling init: $dir/libibverbs.so.1"; then
			echo "$*: our library was not loaded"
			bad=1
		fi
	done
}

try 0 'node GUID' ibv_devices
try - . ibv_devinfo
try 1 Version ib_send_bw --version
try 1 Version ib_read_lat --version
try - . fi_info -p verbs
if /usr/bin/python3 -c 'import pyverbs' 2>/dev/null; then
	try 0 listed /usr/bin/python3 -c 'import pyverbs.device as d
d.get_device_list()
print("listed")'
	# These link the direct-verbs libraries, which need every private name.
	try 0 imported /usr/bin/python3 -c 'import pyverbs.qp, pyverbs.cq, pyverbs.mr
import pyverbs.providers.mlx5.mlx5dv, pyverbs.providers.efa.efadv
print("imported")'
fi

if [ $ran -eq 0 ]; then
	echo "none of the programs is installed"
	exit 77
fi
exit $bad
