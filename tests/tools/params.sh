#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `rosm params` and the section of rosm(7) that is made from it.
. "${top_srcdir:-.}/tests/tools/lib.sh"
rosm=$top/tools/rosm
for name in $(env | sed -n 's/^\(\(FI_\)*ROSM_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done

"$rosm" params > "$tmp/params"
names=$(sed -n 's/^\(ROSM_[A-Z_]*\)$/\1/p' "$tmp/params")
check there_are_parameters [ -n "$names" ]
for name in $names; do
	check "${name}_is_described" has "$src/util/params.c" "\"$name\""
	check "${name}_is_in_the_manual" has "$top/docs/man/rosm.7" \
		"^\.It Ev $name\$"
done
# those that only some builds have stand between #ifdef and #endif
if grep -q '^#define ROSM_FAULT' "$top/config.h"; then
	cat "$src/util/params.c"
else
	sed '/^#ifdef/,/^#endif/d' "$src/util/params.c"
fi > "$tmp/table"
check every_parameter_of_the_table_is_printed is \
	"$(grep -c '\.name = "ROSM_' "$tmp/table")" \
	"$(echo "$names" | wc -l | tr -d ' ')"
check manual_has_no_marker_left [ "$(grep -c @ "$top/docs/man/rosm.7")" = 0 ]
check nothing_is_set_unless_it_is [ "$(grep -c 'set here' "$tmp/params")" = 0 ]

ROSM_DIR=/somewhere FI_ROSM_LOG_LEVEL=debug "$rosm" params > "$tmp/set"
check value_is_shown has "$tmp/set" 'set here: ROSM_DIR=/somewhere'
check alias_is_shown_as_such has "$tmp/set" 'set here: FI_ROSM_LOG_LEVEL=debug'
finish
