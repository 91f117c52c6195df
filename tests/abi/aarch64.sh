#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The verbs face compiles for aarch64, and its trampolines there define the same
# versioned names as this machine's. Not linked: the libraries below it need
# not be there for aarch64.
set -u

cc=aarch64-linux-gnu-gcc
if ! command -v $cc >/dev/null; then
	echo "$cc is not installed"
	exit 77
fi
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
bad=0

# -idirafter: headers of this machine that are the same everywhere.
compile() {
	"$1" -std=gnu11 -Wall -Wextra -Werror -O1 -fPIC -fvisibility=hidden \
		-D_GNU_SOURCE -I"${top_builddir:?}" -I"${top_srcdir:?}" \
		-idirafter /usr/include -c "$2" -o "$3"
}

for f in "${top_srcdir:?}"/verbs-compat/*.c; do
	if ! compile $cc "$f" "$tmp/one.o"; then
		echo "${f##*/} does not compile for aarch64"
		bad=1
	fi
done

names() {
	"$1" "$2" | awk '$NF ~ /@/ { print $NF }' | sort
}

src=${top_srcdir:?}/verbs-compat/trampoline.S
compile $cc "$src" "$tmp/there.o" || exit 1
compile "${CC%% *}" "$src" "$tmp/here.o" || exit 1
names aarch64-linux-gnu-nm "$tmp/there.o" >"$tmp/there"
names nm "$tmp/here.o" >"$tmp/here"
if [ "$(wc -l <"$tmp/here")" -lt 100 ]; then
	echo "only $(wc -l <"$tmp/here") versioned names in trampoline.o"
	bad=1
fi
diff "$tmp/here" "$tmp/there" || bad=1

# Each trampoline is a page, a load and a branch through x16.
aarch64-linux-gnu-objdump -d "$tmp/there.o" >"$tmp/code"
if [ "$(grep -c 'br[[:space:]]*x16' "$tmp/code")" -ne \
	"$(grep -c 'adrp[[:space:]]*x16' "$tmp/code")" ] ||
	! grep -q 'br[[:space:]]*x16' "$tmp/code"; then
	echo "trampolines for aarch64 are not what they should be"
	bad=1
fi
exit $bad
