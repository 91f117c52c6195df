# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
#
# For scripts that run Open MPI jobs over rosm: lib.sh and what such jobs need.
# The job's output is in $tmp/job.

# shellcheck source=tests/interop/lib.sh
. "${top_srcdir:?}/tests/interop/lib.sh"

OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
unset OMPI_MCA_pml OMPI_MCA_mtl FI_PROVIDER FI_PROVIDER_PATH

rosm=${run%% *}

# shellcheck disable=SC2034 # of the scripts
here=${top_srcdir:?}/tests/interop

# Debian's python3 has Debian's mpi4py; another may be in front of it.
python=python3
$python -c 'import mpi4py' 2>/dev/null || python=/usr/bin/python3

# job SECONDS COMMAND...: true when it ends well in time
job() {
	seconds=$1
	shift
	begin=$(date +%s)
	job_rc=0
	timeout -k 2 "$seconds" "$@" >"$tmp/job" 2>&1 </dev/null || job_rc=$?
	echo "$*: $(($(date +%s) - begin)) s, status $job_rc"
	return $job_rc
}

# wrong WHAT: says so, with the job's last words
wrong() {
	echo "FAILED: $*"
	# shellcheck disable=SC2034 # the script's status
	bad=1
	tail -n 25 "$tmp/job"
	echo "----"
}

# What the processes that ended in order have sent in all, in bytes.
sent() {
	"$rosm" stat | awk '/^# sent by / {
		for (i = 1; i < NF; i++)
			if ($i == "all") { print $(i + 1); found = 1 }
	} END { if (!found) print 0 }'
}

# sent_since BEFORE WHAT LEAST: at least LEAST bytes went over rosm
sent_since() {
	now=$(sent)
	echo "$2: at least ${3:-?} bytes, counted $((now - $1))"
	if [ "${3:-0}" -eq 0 ] || [ $((now - $1)) -lt "$3" ]; then
		wrong "$2: rosm stat counts too little"
	fi
}
