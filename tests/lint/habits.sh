#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Words that have a better way: volatile (atomics), packed (wire layouts),
# killing by name (by pid), calls that exit or print in a library.
. "$(dirname "$0")/lib.sh"

ban() { # files, extended regexp, exception, why
	(cd "$root" && printf '%s\n' "$1" | xargs -r grep -nE -- "$2" /dev/null) |
		grep -vE -- "$3" | sed "s,\$, <- $4," >> "$tmp/findings"
}

comment='^[^:]*:[0-9]+:[[:space:]]*(/?\*|//)'
code=$(sources '*.c' '*.h')
product=$(echo "$code" | grep -E '^(util|engine|prov|verbs-compat)/')
ban "$code" '\bvolatile\b' "asm|$comment" 'use <stdatomic.h>'
ban "$code" '__packed|attribute__\(\(packed' '^$' 'use explicit padding'
ban "$code" '\b(TODO|FIXME|XXX)\b' '^$' 'say it in an issue'
ban "$product" '\b(exit|printf|puts)[[:space:]]*\(' \
	"$comment|_exit" 'a library neither exits nor prints'
ban "$(scripts | grep -v '^tests/lint/')" '\b(pkill|killall)\b' \
	'^$' 'kill by pid'
lint_end
