#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# One rank of a running MPI job is killed with SIGKILL: mpirun ends the job, no
# process of it stays, and on the file system nothing but the user's directory
# file, whose size does not change.
set -u
# shellcheck source=tests/interop/mpi_lib.sh
. "${top_srcdir:?}/tests/interop/mpi_lib.sh"
need mpirun
: "${ROSM_DIR:?}"

cat >"$tmp/rank.py" <<'END'
import os
import sys
import time
from mpi4py import MPI

comm = MPI.COMM_WORLD
out, got = bytearray(100000), bytearray(100000)
open(f"{sys.argv[1]}/rank.{os.getpid()}", "w").close()
end = time.monotonic() + 60
while time.monotonic() < end:
    comm.Sendrecv(out, (comm.rank + 1) % comm.size, 1, got)
    comm.Sendrecv(out[:100], (comm.rank + 1) % comm.size, 2, got)
END

: >"$tmp/job"
# shellcheck disable=SC2086 # $run is words
timeout -k 2 50 $run mpirun --oversubscribe -n 4 "$python" "$tmp/rank.py" \
	"$tmp" >"$tmp/job" 2>&1 </dev/null &
mpirun=$!
i=0
while set -- "$tmp"/rank.[0-9]* && [ $# -lt 4 ] && [ $i -lt 300 ]; do
	i=$((i + 1))
	sleep 0.1
done
sleep 1
[ $# -eq 4 ] || {
	wrong "there are no 4 ranks"
	kill $mpirun
	wait
	exit 1
}
size=$(stat -c %b "$ROSM_DIR"/*)

kill -KILL "${2##*.}"
begin=$(date +%s)
rc=0
wait $mpirun || rc=$?
took=$(($(date +%s) - begin))
echo "mpirun ended $took s after the kill, status $rc"
case $rc in
0) wrong "mpirun does not tell of the death" ;;
124) wrong "the job goes on" ;;
esac

# A zombie is over, whoever should wait for it.
lives() { # pid
	grep -q '^State:[[:space:]]*[^XZ[:space:]]' "/proc/$1/status" 2>/dev/null
}
for rank in "$@"; do
	i=0
	while lives "${rank##*.}" && [ $i -lt 50 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	[ $i -lt 50 ] || wrong "process ${rank##*.} is still there"
done
ls -sA "$ROSM_DIR"
[ "$(find "$ROSM_DIR" -mindepth 1 | wc -l)" -eq 1 ] || wrong "files are left"
[ "$(stat -c %b "$ROSM_DIR"/*)" = "$size" ] || wrong "the directory file grew"

# What the dead held is no trouble to the next job.
# shellcheck disable=SC2086
job 60 $run mpirun --oversubscribe -n 4 "$python" "$here/mpi_ring.py" ||
	wrong "the job after the kill"
exit $bad
