#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The examples, built as their readers build them, over the installed rosm.
set -eu

src=${top_srcdir:?}/examples
tmp=$(mktemp -d "${TMPDIR:-/tmp}/rosm-examples.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
cc=${CC:-cc}

$cc -o "$tmp/verbs_write" "$src/verbs_write.c" -libverbs
timeout -k 2 30 rosm run -- "$tmp/verbs_write" rosm0 > "$tmp/out"
cat "$tmp/out"
grep -q '^immediate 42, "hello from [0-9]*"$' "$tmp/out"

# shellcheck disable=SC2046 # flags are words
$cc -o "$tmp/fi_tagged" "$src/fi_tagged.c" $(pkg-config --cflags --libs libfabric)
timeout -k 2 30 rosm run -- "$tmp/fi_tagged" > "$tmp/out"
cat "$tmp/out"
grep -q '^rosm: tag 42, "hello from [0-9]*"$' "$tmp/out"
