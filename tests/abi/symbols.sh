#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The library exports every name@version that the system's libibverbs.so.1 has,
# and all that symbols.tab names; nothing in it is undefined; its soname is that
# of the system's, and both of its names are there.
set -u

lib=${top_builddir:?}/verbs-compat/.libs/libibverbs.so.1
tab=${top_srcdir:?}/verbs-compat/symbols.tab
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
bad=0

# name@version, with or without being the default
names() {
	nm -D --defined-only "$1" |
		awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }' | sort -u
}

# data and functions are not mixed up: "name@version D" or "... T"
kinds() {
	nm -D --defined-only "$1" |
		awk '$2 != "A" { sub(/@@/, "@", $3)
			print $3, ($2 ~ /[BDVR]/ ? "data" : "code") }' | sort -u
}

names "$lib" >"$tmp/ours"
if grep -v @ "$tmp/ours"; then
	echo "these names have no version"
	bad=1
fi

awk -v what=names '
	$1 == "private" { for (i = 2; i <= NF; i++) p[++n] = $i; next }
	/^#/ || NF != 4 { next }
	{
		k = split($2, v, ",")
		for (i = 1; i <= k; i++) {
			if (v[i] == "P")
				for (j = 1; j <= n; j++) {
					name = $1
					sub(/#/, p[j], name)
					print name "@IBVERBS_PRIVATE_" p[j]
				}
			else if (v[i] ~ /^P/)
				print $1 "@IBVERBS_PRIVATE_" substr(v[i], 2)
			else
				print $1 "@IBVERBS_" v[i]
		}
	}' "$tab" | sort -u >"$tmp/table"
if ! diff "$tmp/table" "$tmp/ours"; then
	echo "the library does not export what symbols.tab says (<)"
	bad=1
fi

# Public ones are what the linker takes: name@@version.
nm -D --defined-only "$lib" | awk '$2 != "A" { print $3 }' >"$tmp/raw"
for s in ibv_open_device@@IBVERBS_1.1 ibv_create_comp_channel@@IBVERBS_1.0 \
	ibv_reg_mr_iova2@@IBVERBS_1.8 ibv_open_device@IBVERBS_1.0; do
	if ! grep -qxF "$s" "$tmp/raw"; then
		echo "missing: $s"
		bad=1
	fi
done

soname=$(objdump -p "$lib" | awk '$1 == "SONAME" { print $2 }')
if [ "$soname" != libibverbs.so.1 ]; then
	echo "soname is '$soname'"
	bad=1
fi
if [ "$(readlink -f "$lib")" != "$(readlink -f "${lib%.1}")" ]; then
	echo "no link libibverbs.so beside it"
	bad=1
fi
if ldd -r "$lib" 2>&1 | grep -E 'undefined|not found'; then
	bad=1
fi

system=$(sed -n 's/^#define ROSM_SYSTEM_IBVERBS "\(.*\)"/\1/p' \
	"$top_builddir/config.h")
if [ ! -r "$system" ]; then
	[ $bad -eq 0 ] || exit 1
	echo "no system libibverbs.so.1 to compare with"
	exit 77
fi
kinds "$lib" >"$tmp/ours"
kinds "$system" >"$tmp/theirs"
if [ ! -s "$tmp/theirs" ]; then
	echo "$system: no symbols read"
	bad=1
fi
comm -13 "$tmp/ours" "$tmp/theirs" >"$tmp/missing"
if [ -s "$tmp/missing" ]; then
	echo "the system's library has these, ours has not:"
	cat "$tmp/missing"
	bad=1
fi
exit $bad
