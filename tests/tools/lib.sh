# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh
# shellcheck disable=SC2034 # read by those who source it
#
# What the tests of the command share: check NAME COMMAND... says which
# behaviour failed and goes on; finish ends with the verdict.
set -u
LC_ALL=C
# a build with ASan would not start below a preloaded object
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
export LC_ALL ASAN_OPTIONS
unset LD_LIBRARY_PATH LD_PRELOAD FI_PROVIDER_PATH FI_PROVIDER
# shellcheck disable=SC2046 # names of variables
unset $(env | sed -n 's/^\(OMPI_MCA_[a-z_]*\)=.*/\1/p')

top=${top_builddir:-.}
src=${top_srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rosm-tools.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0
n=0

check() {
	check_name=$1
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n $check_name"
	else
		echo "not ok $n $check_name: $*"
		failed=1
	fi
}

# is A B: equal strings
is() {
	[ "$1" = "$2" ] && return
	printf '  got:      %s\n  expected: %s\n' "$1" "$2"
	return 1
}

# has FILE PATTERN: a line of FILE matches
has() {
	grep -q -e "$2" "$1" && return
	echo "  no /$2/ in:"
	sed 's/^/  | /' "$1"
	return 1
}

lines() {
	wc -l < "$1" | tr -d ' '
}

finish() {
	[ "$n" -gt 0 ] || exit 1
	exit "$failed"
}

# A file that the loader accepts as a preloaded object: it would complain in
# every child about one that is none.
dummy_object() {
	[ -e "$tmp/object.so" ] || {
		echo 'int rosm_test_object;' > "$tmp/object.c"
		${CC:-cc} -shared -fPIC -o "$tmp/object.so" "$tmp/object.c"
	} || exit 99
	cp "$tmp/object.so" "$1"
}

# stage BIN PKGLIB FI: the command and files that stand for rosm's objects, so
# that what is tested is the command alone.
stage() {
	mkdir -p "$1" "$2" "$3"
	cp "$top/tools/rosm" "$1/rosm"
	dummy_object "$2/librosm-path.so"
	: > "$2/libibverbs.so.1"
	: > "$3/librosm-fi.so"
}

# The same in the shape of a build tree.
stage_built() {
	stage "$1/tools" "$1/verbs-compat/.libs" "$1/prov/.libs"
	: > "$1/config.status"
}
