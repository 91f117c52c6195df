# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
#
# For scripts that run unmodified programs where the kernel keeps them from
# each other's memory: everything has to work as it does otherwise, and each
# process says once for each peer and direction that its data goes through
# shared memory.

# shellcheck source=tests/interop/mpi_lib.sh
. "${top_srcdir:?}/tests/interop/mpi_lib.sh"
need ib_send_bw ib_write_bw mpirun

ROSM_LOG_LEVEL=info
export ROSM_LOG_LEVEL

# said_once FILE LEAST: its lines of shared memory, at least so many, all
# different
said_once() {
	grep -E 'data (to|from) it goes through shared memory' "$1" |
		sort >"$tmp/said"
	n=$(grep -c . "$tmp/said")
	twice=$(uniq -d "$tmp/said")
	if [ "$n" -ge "$2" ] && [ -z "$twice" ]; then
		return
	fi
	failed "$name: $n lines of shared memory in $1, at least $2 wanted"
	[ -z "$twice" ] || printf 'twice: %s\n' "$twice"
}

# quiet FILE...: nothing is wrong, nobody is refused
quiet() {
	if grep -hE '^rosm\[[0-9]+\] (warn|error)' "$@"; then
		failed "$name: warnings"
	fi
}

# one_sided: a WRITE needs the target's calls there, and perftest's waits for
# TCP: the client says so, once, and ends when the server does.
one_sided() {
	next_port
	set -- ib_write_bw -s 65536 -n 5 -d rosm0 -F -p "$port"
	# shellcheck disable=SC2086 # $run is words
	timeout -k 2 60 $run "$@" >"$tmp/server" 2>&1 &
	server=$!
	while ! listening "$port" && kill -0 "$server" 2>/dev/null; do
		sleep 0.05
	done
	# shellcheck disable=SC2086
	timeout -k 2 60 $run "$@" localhost >"$tmp/client" 2>&1 &
	client=$!
	i=0
	while ! grep -q 'makes no call' "$tmp/client" && [ $i -lt 200 ]; do
		i=$((i + 1))
		sleep 0.1
	done
	sleep 1
	kill "$server"
	begin=$(date +%s)
	client_rc=0
	wait $client || client_rc=$?
	seconds=$(($(date +%s) - begin))
	echo "ib_write_bw without its server: status $client_rc, $seconds s"
	if [ "$(grep -c 'makes no call' "$tmp/client")" -ne 1 ] ||
		[ $client_rc -eq 0 ] || [ $client_rc -eq 124 ] ||
		[ $seconds -gt 10 ]; then
		failed "$name: ib_write_bw"
	fi
	wait $server
}

# verbs NAME COMMAND...: perftest with both ends run by COMMAND...
verbs() {
	name=$1
	shift
	plain=$run
	run="$* $plain"
	for args in '-s 8' '-s 65536' '-s 4194304' '-s 65536 -b' '-s 65536 -e'; do
		# shellcheck disable=SC2086 # words
		pair 60 ib_send_bw $args -n 50 -d rosm0 -F || continue
		quiet "$tmp/client" "$tmp/server"
		[ "$args" != '-s 8' ] || continue
		said_once "$tmp/client" 1
		said_once "$tmp/server" 1
	done
	one_sided
	run=$plain
}

# mpi NAME RANK-PREFIX...: a ring and an all-to-all of checked data, each rank
# run by the prefix
mpi() {
	name=$1
	shift
	before=$(sent)
	# shellcheck disable=SC2086 # $run is words
	if job 60 $run mpirun --oversubscribe -n 2 "$@" "$python" \
		"$here/mpi_ring.py"; then
		sent_since "$before" "$name" \
			"$(sed -n 's/^moved \([0-9]*\) bytes.*/\1/p' "$tmp/job")"
	else
		wrong "$name: the job fails"
	fi
	said_once "$tmp/job" 2
	quiet "$tmp/job"
}
