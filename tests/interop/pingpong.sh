#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The small programs that come with libibverbs: ibv_devinfo shows our device,
# and ibv_rc_pingpong runs between two processes in each way that RC queue
# pairs offer.
set -u
# shellcheck source=tests/interop/lib.sh
. "${top_srcdir:?}/tests/interop/lib.sh"
need ibv_devinfo ibv_rc_pingpong

# shellcheck disable=SC2086 # $run is words
timeout -k 2 20 $run ibv_devinfo -v -d rosm0 >"$tmp/info" 2>&1 || {
	echo "FAILED: ibv_devinfo -v"
	bad=1
}
while read -r want; do
	grep -Eq "$want" "$tmp/info" || {
		echo "FAILED: ibv_devinfo does not say: $want"
		bad=1
	}
done <<END
hca_id:[[:space:]]*rosm0
transport:.*InfiniBand
fw_ver:[[:space:]]*[0-9]+\.[0-9]+
board_id:[[:space:]]*ROSM
max_mr_size:[[:space:]]*0x[1-9a-f]
state:[[:space:]]*PORT_ACTIVE
active_mtu:[[:space:]]*4096
port_lid:[[:space:]]*[1-9]
link_layer:[[:space:]]*InfiniBand
GID\[ *0\]:[[:space:]]*fe80:
END
[ $bad -eq 0 ] || cat "$tmp/info"

pingpong() {
	pair 60 ibv_rc_pingpong -d rosm0 "$@" || return 0
	for side in client server; do
		if ! grep -q 'iters in' "$tmp/$side" ||
			grep -q 'invalid data' "$tmp/$side"; then
			failed "ibv_rc_pingpong $*: the $side's words"
			return
		fi
	done
	tail -n 1 "$tmp/client"
}

pingpong
pingpong -e
pingpong -N
pingpong -c
pingpong -s 1
pingpong -s 4194304 -n 100
pingpong -r 1
pingpong -n 100000
pingpong -e -N -c -s 65536
pingpong -g 0
exit $bad
