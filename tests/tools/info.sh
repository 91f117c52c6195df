#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `rosm info`: verdicts with reasons, and a topology, which may be of a file.
. "${top_srcdir:-.}/tests/tools/lib.sh"
rosm=$top/tools/rosm
# libraries below hwloc keep what they read about PCI devices until the end
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

"$rosm" info > "$tmp/info" 2> "$tmp/err"
check info_succeeds is $? 0
check info_is_silent_on_standard_error is "$(lines "$tmp/err")" 0
sed -n '/^what this machine allows/,/^topology/p' "$tmp/info" |
	grep '^  ' > "$tmp/verdicts"
check every_verdict_is_one_and_has_a_reason is \
	"$(grep -cE '^  .{23} (yes|limited|no) +[^ ]' "$tmp/verdicts")" \
	"$(lines "$tmp/verdicts")"
check there_are_twenty_probes is "$(lines "$tmp/verdicts")" 20
check each_way_of_keeping_apart_is_told is "$(grep -cE \
	'(namespaces?|dumpable) *(yes|limited|no) .*(contact|could not be tried)' \
	"$tmp/verdicts")" 5
check memory_objects_work_here has "$tmp/verdicts" 'memfd and seals *yes'
check topology_is_printed has "$tmp/info" '^  [0-9]* PU$'
check queues_have_a_place_or_a_reason has "$tmp/info" '^  queues: on n'

(
	ulimit -f 8
	"$rosm" info
) > "$tmp/limited"
check file_size_limit_is_told has "$tmp/limited" \
	'file size limit *no .*ulimit -f'
ROSM_DIR=/nonexistent "$rosm" info > "$tmp/nodir"
check missing_folder_is_told has "$tmp/nodir" \
	'directory folder *no */nonexistent: '

HWLOC_XMLFILE=$src/tests/unit/topo/two-hca.xml
export HWLOC_XMLFILE
"$rosm" info > "$tmp/other"
check recorded_machine_is_marked has "$tmp/other" 'not of this machine'
check unbound_process_gets_no_node has "$tmp/other" \
	'queues: on no particular node'
check nearest_hca_is_named has "$tmp/other" 'HCA: mlx5_1 is nearest'
finish
