#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# NetPIPE over Open MPI over the provider: with checked data, then plain to
# 8 MiB. Its own lines say how many bytes went each way, and rosm counts them.
set -u
# shellcheck source=tests/interop/mpi_lib.sh
. "${top_srcdir:?}/tests/interop/mpi_lib.sh"
need mpirun NPopenmpi

# Bytes by the lines "N: SIZE bytes TIMES times --> ...", there and back.
announced() { # trials
	tr '\r' '\n' <"$tmp/job" | awk -v trials="$1" '
		$3 == "bytes" && $5 == "times" { n += $2 * $4 * 2 * trials }
		END { printf "%.0f\n", n }'
}

before=$(sent)
# shellcheck disable=SC2086 # $run is words
job 90 $run mpirun -n 2 --oversubscribe NPopenmpi -i -o "$tmp/np" ||
	wrong "NPopenmpi -i"
passed=$(grep -c 'Integrity check passed' "$tmp/job")
echo "$passed sizes passed"
[ "$passed" -ge 40 ] || wrong "NPopenmpi -i: sizes are missing"
if grep -i 'fail' "$tmp/job"; then wrong "NPopenmpi -i: wrong data"; fi
sent_since "$before" "NPopenmpi -i" "$(announced 1)"

before=$(sent)
# shellcheck disable=SC2086
job 60 $run mpirun -n 2 --oversubscribe NPopenmpi -n 20 -u 8388608 \
	-o "$tmp/np" || wrong "NPopenmpi"
grep -q '8388608 bytes' "$tmp/job" || wrong "NPopenmpi: no line for 8 MiB"
sent_since "$before" "NPopenmpi" "$(announced 3)"
exit $bad
