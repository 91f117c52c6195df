#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# perftest's latency of send, write and read over RC queue pairs: in several
# sizes (all with ROSM_SOAK), with inline data, with events. Numbers are shown,
# not judged. What takes the time is perftest, which measures the clock for each.
set -u
# shellcheck source=tests/interop/lib.sh
. "${top_srcdir:?}/tests/interop/lib.sh"
need ib_send_lat ib_write_lat ib_read_lat

for op in send write read; do
	sizes 10 "ib_${op}_lat" 2 4096 65536 8388608
done
for op in send read; do
	perftest 2 "ib_${op}_lat" -e -n 1000
done
perftest 64 ib_write_lat -I 64 -s 64 -n 1000
perftest 64 ib_send_lat -I 64 -s 64 -n 1000
exit $bad
