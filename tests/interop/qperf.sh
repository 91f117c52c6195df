#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# qperf's RC tests: one server for all of them, LIDs only, completion events,
# and a device list that it gives to free().
set -u
# shellcheck source=tests/interop/lib.sh
. "${top_srcdir:?}/tests/interop/lib.sh"
need qperf

next_port
# shellcheck disable=SC2086 # $run is words
timeout -k 2 100 $run qperf -lp "$port" >"$tmp/server" 2>&1 &
server=$!
while ! listening "$port" && kill -0 "$server" 2>/dev/null; do
	sleep 0.05
done
for t in rc_lat rc_bw rc_bi_bw rc_rdma_write_lat rc_rdma_write_bw \
	rc_rdma_write_poll_lat rc_rdma_read_lat rc_rdma_read_bw; do
	# shellcheck disable=SC2086
	timeout -k 2 20 $run qperf -lp "$port" -t 1 localhost "$t" \
		>"$tmp/client" 2>&1
	rc=$?
	if [ $rc -ne 0 ] || ! grep -Eq '(latency|bw) +=' "$tmp/client"; then
		failed "$t: status $rc"
	fi
	cat "$tmp/client"
done
# shellcheck disable=SC2086
timeout -k 2 20 $run qperf -lp "$port" localhost quit >"$tmp/client" 2>&1 ||
	failed "quit"
wait "$server" || failed "the server's status is $?"
exit $bad
