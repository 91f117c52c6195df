#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# perftest and an Open MPI job where a seccomp filter refuses cross-memory
# attach, as container runtimes do, with either error.
set -u
# shellcheck source=tests/interop/denied_lib.sh
. "${top_srcdir:?}/tests/interop/denied_lib.sh"

${CC:-cc} -o "$tmp/deny" "$top_srcdir/tests/interop/deny.c" || exit 99

for err in EPERM ENOSYS; do
	verbs "verbs, $err" "$tmp/deny" $err
	mpi "MPI, $err" "$tmp/deny" $err
done
exit $bad
