#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Includes point down: util <- engine <- faces. The faces see engine/rosm.h and
# util/, never each other; only engine/hca/ knows <infiniband/>. Project
# headers are included by their path from the root.
. "$(dirname "$0")/lib.sh"

sources '*.c' '*.h' '*.S' |
	grep -E '^(util|engine|prov|verbs-compat|tools)/' > "$tmp/list"
while read -r f; do
	awk -v f="$f" '
	function no(why) { printf "%s:%d: %s: %s\n", f, FNR, inc, why }
	BEGIN { split(f, part, "/"); me = part[1] }
	/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
		inc = $0
		sub(/^[^<"]*/, "", inc); sub(/[>"][^>"]*$/, "", inc)
		local = substr(inc, 1, 1) == "\""
		inc = substr(inc, 2)
		split(inc, p, "/"); to = p[1]
		if (local && inc ~ /^\.\.?\// || local && !index(inc, "/")) {
			no("not a path from the root"); next
		}
		if (to == "tests" || to == "bench" || to == "examples")
			no("product code does not include tests")
		if (inc ~ /^rdma\/(ib|rdma)_user_/)
			next	# kernel ABI
		if (to == "rdma" && me != "prov")
			no("only prov/ includes <rdma/>")
		if (to == "infiniband" && me != "verbs-compat" &&
		    f !~ /^engine\/hca\//)
			no("only verbs-compat/ and engine/hca/ include <infiniband/>")
		if (!local) next
		if (me == "util" && to != "util")
			no("util/ includes nothing above it")
		if (me == "engine" && to != "util" && to != "engine")
			no("engine/ includes util/ only")
		if ((me == "prov" || me == "verbs-compat") &&
		    to != "util" && to != me && inc != "engine/rosm.h")
			no("a face includes engine/rosm.h, util/ and itself only")
		if (me == "tools" && (to == "prov" || to == "verbs-compat"))
			no("tools/ does not include a face")
	}' "$root/$f" >> "$tmp/findings"
done < "$tmp/list"
lint_end
