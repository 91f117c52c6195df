#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# perftest over RC queue pairs: latency and bandwidth of send, write and read
# in all sizes, in both directions, on several queue pairs, with events. Numbers
# are shown, not judged: one machine's are not another's.
set -u
# shellcheck source=tests/interop/lib.sh
. "${top_srcdir:?}/tests/interop/lib.sh"
need ib_send_lat ib_send_bw ib_write_lat ib_write_bw ib_read_lat ib_read_bw

# perf LAST-SIZE COMMAND...: the client's table ends with that size
perf() {
	last=$1
	shift
	pair 60 "$@" -d rosm0 -F || return 0
	grep -Eq "^ *$last +[0-9]+ " "$tmp/client" || {
		failed "$*: no line for $last bytes"
		return
	}
	sed -n '/^ *#bytes/,/^---/p' "$tmp/client" | grep -E '^ *[0-9#]' |
		sed -n '1,2p;$p'
}

for op in send write read; do
	perf 8388608 "ib_${op}_lat" -a -n 10
	perf 8388608 "ib_${op}_bw" -a -n 10
	perf 65536 "ib_${op}_bw" -b -n 1000
	perf 65536 "ib_${op}_bw" -q 8 -n 1000
	perf 65536 "ib_${op}_bw" -b -q 8 -n 500
done
# Events are for verbs that complete at the waiting side.
for op in send read; do
	perf 2 "ib_${op}_lat" -e -n 1000
	perf 65536 "ib_${op}_bw" -e -n 1000
done
perf 65536 ib_send_bw -b -e -n 1000
perf 64 ib_write_lat -I 64 -s 64 -n 1000
perf 64 ib_send_lat -I 64 -s 64 -n 1000
exit $bad
