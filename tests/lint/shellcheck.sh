#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Every script passes shellcheck.
. "$(dirname "$0")/lib.sh"

command -v shellcheck > /dev/null || { echo "no shellcheck here"; exit 77; }
cd "$root" || exit 99
scripts | xargs -r timeout -k 2 100 shellcheck -x -P SCRIPTDIR -e SC1091 \
	>> "$tmp/findings" 2>&1
lint_end
