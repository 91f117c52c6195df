#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Runs each script of tests/conform/scripts, or those named, on every face,
# with and without CMA, and compares the traces: all must be equal, byte for
# byte. A face that a script leaves out must have refused what it lacks.
set -u

here=$(dirname "$0")
bin=${top_builddir:-.}/tests/conform
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rosm-conform.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
bad=0
faces='engine verbs fi'

[ "$#" -gt 0 ] || set -- "$here"/scripts/*.txt

for cma in 1 0; do
	mkdir "$tmp/$cma" || exit 99
	for face in $faces; do
		ROSM_MOVE_CMA=$cma "$bin/face_$face" -o "$tmp/$cma" "$@" \
			> "$tmp/log" 2>&1 || {
			bad=1
			echo "face_$face, ROSM_MOVE_CMA=$cma:"
			grep -v '^ok ' "$tmp/log"
		}
	done
done

# One face of each kind ran the script, refused it or left it out for want of
# something on this machine, and all traces are equal.
compare() { # script
	first=
	out=
	for kind in $faces; do
		found=no
		for t in "$tmp"/[01]/"$1.$kind" "$tmp"/[01]/"$1.$kind"-* \
			"$tmp"/[01]/"$1.$kind".*; do
			[ -f "$t" ] || continue
			found=yes
			case $t in
			*.refused) continue ;;
			*.left-out) out=$1; continue ;;
			esac
			traces=$((traces + 1))
			if [ -z "$first" ]; then
				first=$t
			elif ! cmp -s "$first" "$t"; then
				echo "$1: ${first#"$tmp"/} and ${t#"$tmp"/} differ:"
				diff "$first" "$t"
				return 1
			fi
		done
		[ "$found" = yes ] || {
			echo "$1: no trace of $kind"
			return 1
		}
	done
	if [ -z "$first" ] && [ -n "$out" ]; then
		echo "$1: left out"
	elif [ ! -s "$first" ]; then
		echo "$1: an empty trace compares nothing"
		return 1
	fi
}

traces=0
n=0
for s in "$@"; do
	s=${s##*/}
	compare "${s%.txt}" || bad=1
	n=$((n + 1))
done
echo "$n scripts, $traces traces compared"
exit "$bad"
