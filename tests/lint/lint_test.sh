#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# The lint tests, tested: each must pass on a good tree and fail, with the
# expected words, on a tree with one fault.
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
spdx='/* SPDX-License-Identifier: BSD-2-Clause */'
good=$tmp/good

put() { # file, lines...
	mkdir -p "$(dirname "$1")"
	to=$1
	shift
	printf '%s\n' "$@" > "$to"
}

mkdir -p "$good/docs"
put "$good/util/a.h" "$spdx" '#include <stdint.h>' \
	'static inline uint32_t ru_a(void) { return 1; }'
put "$good/engine/rosm.h" "$spdx" '#include "util/a.h"' '/* R-one: x */'
put "$good/engine/wire/w.h" "$spdx" '#include <stdint.h>' \
	'struct rosm_wire_w {' '	/* int * of a comment */' \
	'	uint32_t a[2];	/* bool */' '};' \
	'_Static_assert(sizeof(struct rosm_wire_w) == 8, "layout");'
put "$good/prov/p.c" "$spdx" '#include "engine/rosm.h"' '/* A-one: y */'
put "$good/docs/memory-ordering.md" '| R-one | A-one |'
# shellcheck disable=SC2016 # a script's text
put "$good/run.sh" '#!/bin/sh' '# SPDX-License-Identifier: BSD-2-Clause' 'echo "$0"'

passes() { # lint
	LINT_ROOT=$good sh "$here/$1.sh" > "$tmp/out" 2>&1 || {
		echo "$1 fails on a good tree:"
		cat "$tmp/out"
	} >> "$tmp/findings"
}

# fails LINT WORDS FILE LINES...: with FILE so, LINT must fail and say WORDS.
fails() {
	lint=$1 words=$2 file=$3
	shift 3
	rm -rf "$tmp/bad"
	cp -a "$good" "$tmp/bad"
	put "$tmp/bad/$file" "$@"
	if LINT_ROOT=$tmp/bad sh "$here/$lint.sh" > "$tmp/out" 2>&1; then
		echo "$lint misses: $file: $*" >> "$tmp/findings"
	elif ! grep -qF -- "$words" "$tmp/out"; then
		{
			echo "$lint does not say \"$words\" but:"
			cat "$tmp/out"
		} >> "$tmp/findings"
	fi
}

for l in spdx length format includes labels wire habits headers; do
	passes "$l"
done

fails spdx 'util/b.c' util/b.c 'int b;'
fails spdx 'tool' tool '#!/bin/sh' 'echo'
# shellcheck disable=SC2046 # a thousand words, a line each
fails length '1001 lines' util/b.c "$spdx" $(seq 1000)
fails format '101 columns' util/b.c "$spdx" "$(printf 'int b%095d;' 0)"
fails format 'end of the line' util/b.c "$spdx" 'int b; '
fails format 'a tab' util/b.c "$spdx" '        int b;'
fails format 'keyword' util/b.c "$spdx" '	if(b)'
fails format 'of //' util/b.c "$spdx" 'int b; // c'
fails format 'brace' util/b.c "$spdx" 'int b(void) {'
fails format 'two empty' util/b.c "$spdx" '' '' 'int b;'
fails format 'at the end' util/b.c "$spdx" ''
fails includes 'nothing above' util/b.c "$spdx" '#include "engine/rosm.h"'
fails includes 'util/ only' engine/b.c "$spdx" '#include "prov/p.h"'
fails includes 'only prov/' engine/b.c "$spdx" '#include <rdma/fabric.h>'
fails includes '<infiniband/>' prov/b.c "$spdx" '#include <infiniband/verbs.h>'
fails includes 'a face' prov/b.c "$spdx" '#include "engine/wire/w.h"'
fails includes 'a face' verbs-compat/b.c "$spdx" '#include "prov/p.h"'
fails includes 'from the root' prov/b.c "$spdx" '#include "p.h"'
fails includes 'include tests' util/b.c "$spdx" '#include "tests/lib/mp.h"'
fails headers 'alone' util/b.h "$spdx" 'uint32_t b(void);'
fails labels 'R-two has no A-two' engine/b.c "$spdx" '/* R-two: x */'
fails labels 'A-two is not in docs' engine/b.c "$spdx" '/* R-two A-two */'
fails labels 'A-one has no R-one' engine/rosm.h "$spdx"
fails labels 'R-two is nowhere' docs/memory-ordering.md 'R-one A-one R-two'
fails wire 'engine/b.c:2' engine/b.c "$spdx" 'struct rosm_wire_b {' '};'
for member in 'void *p;' 'bool b;' 'size_t n;' 'int i;' 'enum e e;'; do
	fails wire 'fixed-width' engine/wire/b.h "$spdx" \
		'struct rosm_wire_b {' "	$member" '};' \
		'_Static_assert(sizeof(struct rosm_wire_b) == 8, "layout");'
done
fails wire 'not asserted' engine/wire/b.h "$spdx" \
	'struct rosm_wire_b {' '	uint32_t n;' '};'
fails habits 'stdatomic' util/b.c "$spdx" 'volatile int b;'
fails habits 'padding' util/b.c "$spdx" 'struct b { } __packed;'
fails habits 'neither exits' engine/b.c "$spdx" '	exit(1);'
fails habits 'by pid' kill.sh '#!/bin/sh' 'pkill -f x'
if command -v shellcheck > /dev/null; then
	passes shellcheck
	# shellcheck disable=SC2016 # the fault shown
	fails shellcheck 'SC2086' bad.sh '#!/bin/sh' 'rm $1'
fi
lint_end
