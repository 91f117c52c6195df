# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
#
# For scripts that run a program of others as a server and a client over rosm,
# both on this machine, with the TCP port that they exchange their numbers by.
# $ROSM_RUN is the command that puts rosm in place, words split at blanks.

run=${ROSM_RUN:-rosm run --}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rosm-interop.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
bad=0
port=$((20000 + $$ % 10000))

need() { # program...
	for p in "$@"; do
		command -v "$p" >/dev/null || {
			echo "$p is not installed"
			exit 77
		}
	done
}

listening() { # port
	cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
		awk -v p="$(printf ':%04X$' "$1")" \
			'$4 == "0A" && $2 ~ p { found = 1 } END { exit !found }'
}

next_port() {
	port=$((port + 1))
	while listening "$port"; do port=$((port + 1)); done
}

failed() { # what
	echo "FAILED: $*"
	# shellcheck disable=SC2034 # the script's status
	bad=1
	for f in server client; do
		echo "---- $f"
		tail -n 15 "$tmp/$f"
	done
	echo "----"
}

# pair SECONDS COMMAND...: true when server and client end well in time. Their
# output is in $tmp/server and $tmp/client.
pair() {
	seconds=$1
	shift
	next_port
	begin=$(date +%s)
	# shellcheck disable=SC2086 # $run is words
	timeout -k 2 "$seconds" $run "$@" -p "$port" >"$tmp/server" 2>&1 &
	server=$!
	while ! listening "$port" && kill -0 "$server" 2>/dev/null; do
		sleep 0.05
	done
	: >"$tmp/client"
	client_rc=0
	# shellcheck disable=SC2086
	timeout -k 2 "$seconds" $run "$@" -p "$port" localhost \
		>"$tmp/client" 2>&1 || client_rc=$?
	server_rc=0
	wait "$server" || server_rc=$?
	echo "$*: $(($(date +%s) - begin)) s"
	[ $client_rc -ne 0 ] || [ $server_rc -ne 0 ] || return 0
	failed "$*: status of the client $client_rc, of the server $server_rc"
	return 1
}

# sizes ITERATIONS COMMAND SIZE...: perftest in these sizes; in the long form in
# all, which takes half a minute
sizes() {
	times=$1 command=$2
	shift 2
	if [ -n "${ROSM_SOAK:-}" ]; then
		perftest 8388608 "$command" -a -n "$times"
		return
	fi
	for size in "$@"; do
		perftest "$size" "$command" -s "$size" -n "$times"
	done
}

# perftest LAST-SIZE COMMAND...: the client's table ends with that size
perftest() {
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
