#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# perftest's bandwidth of send, write and read over RC queue pairs: in
# several sizes (all with ROSM_SOAK), in both directions, on several queue pairs,
# with events. Numbers are shown, not judged: one machine's are not another's.
set -u
# shellcheck source=tests/interop/lib.sh
. "${top_srcdir:?}/tests/interop/lib.sh"
need ib_send_bw ib_write_bw ib_read_bw

for op in send write read; do
	sizes 10 "ib_${op}_bw" 4096 8388608
	perftest 65536 "ib_${op}_bw" -b -n 1000
	perftest 65536 "ib_${op}_bw" -q 8 -n 1000
	perftest 65536 "ib_${op}_bw" -b -q 8 -n 500
done
# perftest has no events for write: nothing completes at the waiting side.
for op in send read; do
	perftest 65536 "ib_${op}_bw" -e -n 1000
done
perftest 65536 ib_send_bw -b -e -n 1000
exit $bad
