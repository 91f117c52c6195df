# SPDX-License-Identifier: BSD-2-Clause
#
# Reads symbols.tab and writes, by -v what=:
#   map   the version script of libibverbs.so.1
#   asm   the body of trampoline.S: one stub or object per name and version
#   sys   symbols.h: X-macro lists of the trampolines (RVC_TRAMP) and of the
#         system's functions behind our own (RVC_SYS, RVC_SYS_PRIVATE)
# The lists of asm and sys number the trampolines alike.

function fail(msg) {
	print "symbols.tab:" FNR ": " msg > "/dev/stderr"
	failed = 1
	exit 1
}

# The nodes a line names, into nodes[1..n] (numbers of private ones in num[]).
function expand(list,    parts, i, n, k) {
	k = split(list, parts, ",")
	for (i in nodes)
		delete nodes[i]
	n = 0
	for (i = 1; i <= k; i++) {
		if (parts[i] == "P") {
			for (j = 1; j <= nprivate; j++) {
				nodes[++n] = "IBVERBS_PRIVATE_" private[j]
				num[n] = private[j]
			}
		} else if (parts[i] ~ /^P[0-9]+$/) {
			nodes[++n] = "IBVERBS_PRIVATE_" substr(parts[i], 2)
			num[n] = substr(parts[i], 2)
		} else if (parts[i] ~ /^1\.[0-9]+$/) {
			nodes[++n] = "IBVERBS_" parts[i]
			num[n] = ""
		} else {
			fail("no such version: " parts[i])
		}
	}
	return n
}

function public_node(node) {
	if (!(node in seen)) {
		seen[node] = 1
		order[++norder] = node
	}
}

function stub(label, name, node) {
	if (what == "asm")
		printf "\t.symver %s, %s@%s\n", label, name, node
}

BEGIN {
	if (what == "sys" || what == "asm")
		print "/* Made from symbols.tab by gen-symbols.awk. */"
	else if (what == "map")
		print "# Made from symbols.tab by gen-symbols.awk."
	else
		fail("-v what= must be map, asm or sys")
}

/^#/ || NF == 0 { next }

$1 == "private" {
	for (i = 2; i <= NF; i++)
		private[++nprivate] = $i
	next
}

NF != 4 { fail("want four columns") }
$3 !~ /^(own|tramp|twin|data)$/ { fail("no such class: " $3) }
$4 !~ /^(err|neg|null|nop|-)$/ { fail("no such answer: " $4) }
$4 == "-" && $3 != "own" { fail("'-' is for own functions only") }

{
	n = expand($2)
	is_private = num[1] != ""
	for (i = 1; i <= n && !is_private; i++)
		public_node(nodes[i])
}

# An own function has its ABI name in C and its version from the map; one of
# the private nodes is called rvc_<name> in C and reached through stubs.
$3 == "own" {
	if (!is_private) {
		if (n != 1)
			fail("a public own function has one version")
		globals[nodes[1]] = globals[nodes[1]] "\t\t" $1 ";\n"
		if (what == "sys" && $4 != "-")
			printf "RVC_SYS(%s, \"%s\", %s)\n", $1, nodes[1], $4
		next
	}
	c_name = $1
	sub(/^ibv_/, "rvc_", c_name)
	if (what == "sys" && $4 != "-")
		printf "RVC_SYS_PRIVATE(%s, %s, %s)\n", $1, c_name, $4
	for (i = 1; i <= n; i++) {
		label = "rvc_own_" c_name "_" num[i]
		stub(label, $1, nodes[i])
		if (what == "asm")
			printf "RVC_STUB(%s, %s)\n", label, c_name
	}
	next
}

$3 == "data" {
	for (i = 1; i <= n; i++) {
		label = "rvc_data_" $1 "_" num[i]
		stub(label, $1, nodes[i])
		if (what == "asm")
			printf "RVC_FLAG(%s)\n", label
	}
	next
}

{
	for (i = 1; i <= n; i++) {
		name = $1
		if (is_private)
			sub(/#/, num[i], name)
		label = "rvc_tramp_" count + 0
		if (what == "sys")
			printf "RVC_TRAMP(%d, %s, \"%s\", %s)\n",
			       count, name, nodes[i], $4
		stub(label, name, nodes[i])
		if (what == "asm")
			printf "RVC_JUMP(%s, %d, rvc_absent_%s)\n",
			       label, count, $4
		count++
	}
}

function minor(node) {
	return substr(node, index(node, ".") + 1) + 0
}

END {
	if (failed)
		exit 1
	if (what == "sys") {
		printf "RVC_TRAMP_COUNT(%d)\n", count
		for (j = 1; j <= nprivate; j++)
			printf "RVC_PRIVATE(\"IBVERBS_PRIVATE_%s\")\n",
			       private[j]
	}
	if (what != "map")
		exit 0
	# Ascending order, each node based on the one before it.
	for (i = 2; i <= norder; i++)
		for (j = i; j > 1 && minor(order[j]) < minor(order[j - 1]); j--) {
			t = order[j]
			order[j] = order[j - 1]
			order[j - 1] = t
		}
	base = ""
	for (i = 1; i <= norder; i++) {
		printf "%s {\n\tglobal:\n%s", order[i], globals[order[i]]
		if (i == norder)
			print "\tlocal:\n\t\t*;"
		printf "}%s;\n\n", base
		base = " " order[i]
	}
	# The names of these come with their version from trampoline.S.
	for (j = 1; j <= nprivate; j++)
		printf "IBVERBS_PRIVATE_%s {\n};\n", private[j]
}
