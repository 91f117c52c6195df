#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Open MPI jobs over the provider: a ring and an all-to-all of checked data on
# 2 and 4 ranks, with `rosm run` and by setting the variables by hand. rosm's
# own counters show that the data went this way, live and after the end; and
# with the provider out of sight the same command fails.
set -u
# shellcheck source=tests/interop/mpi_lib.sh
. "${top_srcdir:?}/tests/interop/mpi_lib.sh"
need mpirun

moved() {
	sed -n 's/^moved \([0-9]*\) bytes.*/\1/p' "$tmp/job"
}

for n in 2 4; do
	before=$(sent)
	# shellcheck disable=SC2086 # $run is words
	job 60 $run mpirun --oversubscribe -n $n "$python" \
		"$here/mpi_ring.py" || wrong "$n ranks"
	sent_since "$before" "$n ranks" "$(moved)"
done

# The plain way, without `rosm run`.
fi_path=$("$rosm" env --no-verbs --no-mpi |
	sed -n "s/^export FI_PROVIDER_PATH='\([^']*\)'.*/\1/p")
before=$(sent)
job 60 env FI_PROVIDER_PATH="$fi_path" FI_PROVIDER=rosm mpirun \
	--oversubscribe --mca pml cm --mca mtl ofi -n 2 "$python" \
	"$here/mpi_ring.py" || wrong "the plain way"
sent_since "$before" "the plain way" "$(moved)"

# The same settings, but libfabric does not find the provider.
mkdir "$tmp/empty"
before=$(sent)
for way in run plain; do
	# shellcheck disable=SC2086
	case $way in
	run) set -- $run env FI_PROVIDER_PATH="$tmp/empty" mpirun ;;
	plain) set -- env FI_PROVIDER_PATH="$tmp/empty" FI_PROVIDER=rosm \
		mpirun --mca pml cm --mca mtl ofi ;;
	esac
	job 60 "$@" --oversubscribe -n 2 "$python" "$here/mpi_ring.py" &&
		wrong "without the provider the job runs all the same"
	case $job_rc in
	124 | 137) wrong "without the provider the job hangs" ;;
	esac
	[ -z "$(moved)" ] || wrong "without the provider data was moved"
done
[ "$(sent)" -eq "$before" ] || wrong "without the provider rosm counts data"

# Live: the ranks stay until $tmp/go is there.
# shellcheck disable=SC2086
timeout -k 2 60 $run mpirun --oversubscribe -n 2 "$python" \
	"$here/mpi_ring.py" "$tmp/go" >"$tmp/job" 2>&1 </dev/null &
live=$!
i=0
while [ -z "$(moved)" ] && [ $i -lt 400 ]; do
	i=$((i + 1))
	sleep 0.1
done
"$rosm" stat >"$tmp/live"
: >"$tmp/go"
wait $live || wrong "the job that is looked at"
least=$(moved)
for way in tx rx; do
	count=$(awk -v way=$way '$5 == way { n += $6 }
		END { printf "%.0f\n", n }' "$tmp/live")
	echo "live, $way: at least ${least:-?} bytes, counted $count"
	if [ "${least:-0}" -eq 0 ] || [ "$count" -lt "$least" ]; then
		wrong "live, $way: rosm stat counts too little"
		cat "$tmp/live"
	fi
done
exit $bad
