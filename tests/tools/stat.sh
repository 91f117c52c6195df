#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `rosm stat` counts what two processes moved; `rosm clean` waits for them.
# shellcheck disable=SC2016,SC2317 # functions are called by check
. "${top_srcdir:-.}/tests/tools/lib.sh"
rosm=$top/tools/rosm
mover=$top/tests/tools/mover
ROSM_DIR=$tmp/dir
export ROSM_DIR
mkdir "$ROSM_DIR"

"$rosm" stat > "$tmp/none"
check stat_without_a_directory_succeeds is $? 0
check stat_makes_no_directory is "$(ls "$ROSM_DIR")" ''
check clean_without_a_directory_succeeds "$rosm" clean
check ended_without_a_directory_succeeds "$rosm" stat --ended

# until FILE COMMAND: in time, or the test is over
until_has() {
	i=0
	until grep -qs -e "$2" "$1"; do
		i=$((i + 1))
		if [ "$i" -gt 200 ]; then
			echo "no /$2/ in $1 within 20 s"
			exit 1
		fi
		sleep 0.1
	done
}

# Both live as long as the FIFO has a writer: this shell, through fd 8.
mkfifo "$tmp/hold"
count=100
bytes=1000
big=65536
timeout -k 2 60 "$mover" recv "$((2 * count))" < "$tmp/hold" > "$tmp/recv" &
exec 8> "$tmp/hold"
until_has "$tmp/recv" .
name=$(head -n 1 "$tmp/recv")
timeout -k 2 60 "$mover" send "$count" "$bytes" "$name" \
	< "$tmp/hold" > "$tmp/send" 8>&- &
until_has "$tmp/send" ready
timeout -k 2 60 "$mover" send "$count" "$big" "$name" \
	< "$tmp/hold" > "$tmp/big" 8>&- &
until_has "$tmp/big" ready
until_has "$tmp/recv" ready

# sum FILE WAY COLUMN: of all rows that go that way
sum() {
	awk -v way="$2" -v col="$3" '$5 == way { n += $col } END { print n + 0 }' \
		"$1"
}
at_least() {
	[ "$1" -ge "$2" ] && return
	echo "  $1 is less than $2"
	sed 's/^/  | /' "$tmp/live"
	return 1
}
total=$((count * bytes + count * big))
"$rosm" stat > "$tmp/live"
check live_bytes_sent_are_counted at_least "$(sum "$tmp/live" tx 6)" "$total"
check live_bytes_received_are_counted at_least "$(sum "$tmp/live" rx 6)" \
	"$total"
check live_operations_are_counted at_least "$(sum "$tmp/live" tx 7)" \
	$((2 * count))
check no_process_counts_twice [ "$(sum "$tmp/live" tx 6)" -lt $((2 * total)) ]

pid=$(awk '$5 == "rx" { print $1 }' "$tmp/live" | sort | uniq -c | sort -rn |
	awk 'NR == 1 { print $2 }')
"$rosm" stat "$pid" > "$tmp/one"
check one_process_is_picked is "$(awk 'NR > 1 { print $1 }' "$tmp/one" |
	sort -u)" "$pid"
"$rosm" stat $$ > "$tmp/out" 2> "$tmp/err"
check process_without_rosm_is_refused is "$?" 1
check refusal_names_the_process has "$tmp/err" "^rosm: stat: process $$ "

"$rosm" clean > "$tmp/out" 2> "$tmp/err"
check clean_is_refused_while_they_live is "$?" 1
check clean_says_why has "$tmp/err" 'in use by a live process'
check the_file_is_still_there [ -n "$(ls "$ROSM_DIR")" ]

exec 8>&-
wait
"$rosm" stat > "$tmp/after"
check the_dead_are_not_live is "$(sum "$tmp/after" tx 6)" 0
check sums_of_the_ended_stay has "$tmp/after" 'by 3 processes that ended'
"$rosm" stat --ended > "$tmp/ended"
check the_ended_are_named has "$tmp/ended" '^ *[0-9]* mover '
ended=$(awk '$2 == "mover" { n += $4 } END { print n + 0 }' "$tmp/ended")
check bytes_of_the_ended_are_counted at_least "$ended" "$total"

check clean_succeeds_after_them "$rosm" clean
check nothing_is_left is "$(ls "$ROSM_DIR")" ''
finish
