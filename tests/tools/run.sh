#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# `rosm run`: status and signals pass, variables arrive, obstacles are told.
# shellcheck disable=SC2016,SC2317 # functions are called by check
. "${top_srcdir:-.}/tests/tools/lib.sh"

stage_built "$tmp/b"
rosm=$tmp/b/tools/rosm
verbs=$tmp/b/verbs-compat/.libs
fi=$tmp/b/prov/.libs
# nothing stands in for PSM where its HCA is
nopsm=:$tmp/b/tools/.libs
[ ! -e /dev/ipath ] && [ ! -e /dev/ipath0 ] || nopsm=

gives() {
	"$rosm" run -- "$@" > "$tmp/out" 2> "$tmp/err"
	is "$?" "$want" && is "$(lines "$tmp/err")" 0
}
for want in 0 1 42 255; do
	check "status_${want}_passes" gives sh -c "exit $want"
done

# The command takes the place of `rosm`: its signals need no passing.
"$rosm" run -- sh -c 'echo $$' > "$tmp/pid" &
wait $!
check command_has_the_pid_of_rosm is "$(cat "$tmp/pid")" "$!"
"$rosm" run -- sh -c 'kill -TERM $$; sleep 9'
check signal_passes is $? 143
want=0
check arguments_pass_unchanged gives sh -c \
	'[ $# = 3 ] && [ "$1" = "a b" ] && [ -z "$2" ] && [ "$3" = -v ]' \
	sh 'a b' '' -v
check dashes_are_optional is "$("$rosm" run echo --no-mpi)" --no-mpi

# value NAME [OPTION...]: of a variable in the command
value() {
	name=$1
	shift
	"$rosm" run "$@" -- sh -c "echo \"\$$name\""
}
check library_path_is_set is "$(value LD_LIBRARY_PATH)" "$verbs$nopsm"
check preload_is_set is "$(value LD_PRELOAD)" "$verbs/librosm-path.so"
check provider_path_is_set is "$(value FI_PROVIDER_PATH)" "$fi"
check provider_is_set is "$(value FI_PROVIDER)" rosm
check pml_is_cm is "$(value OMPI_MCA_pml)" cm
check mtl_is_ofi is "$(value OMPI_MCA_mtl)" ofi
check include_list_is_rosm is \
	"$(value OMPI_MCA_opal_common_ofi_provider_include)" rosm
check without_mpi_its_variables_are_absent is "$(value OMPI_MCA_pml --no-mpi)" \
	''
check without_mpi_the_provider_stays is "$(value FI_PROVIDER --no-mpi)" rosm
check without_verbs_nothing_is_preloaded is "$(value LD_PRELOAD --no-verbs)" ''
check without_verbs_the_provider_stays is \
	"$(value FI_PROVIDER_PATH --no-verbs)" "$fi"
check the_users_own_list_comes_after is \
	"$(LD_LIBRARY_PATH=/a:/b; export LD_LIBRARY_PATH; value LD_LIBRARY_PATH)" \
	"$verbs$nopsm:/a:/b"
check without_verbs_the_system_has_its_library is \
	":$(value LD_LIBRARY_PATH --no-verbs)" "${nopsm:-:}"
check runs_within_runs_add_nothing is "$(LD_LIBRARY_PATH=/a "$rosm" run \
	"$rosm" run sh -c 'echo $LD_LIBRARY_PATH')" "$verbs$nopsm:/a"
check the_choice_of_provider_is_replaced is \
	"$(FI_PROVIDER=tcp; export FI_PROVIDER; value FI_PROVIDER)" rosm
"$rosm" run -v -- true 2> "$tmp/err"
check verbose_prints_what_is_set has "$tmp/err" '^FI_PROVIDER=rosm$'

# tells STATUS PATTERN COMMAND...: one line on standard error
tells() {
	want=$1
	pattern=$2
	shift 2
	"$rosm" run -- "$@" > "$tmp/out" 2> "$tmp/err"
	is "$?" "$want" && is "$(lines "$tmp/err")" 1 &&
		has "$tmp/err" "^rosm: .*$pattern"
}
check missing_command_is_told tells 127 'command not found' rosm-no-such
: > "$tmp/text"
check file_without_x_is_told tells 126 'Permission denied' "$tmp/text"
check folder_is_told tells 126 'Permission denied' "$tmp"

without_path() {
	PATH=$tmp/empty "$rosm" run -- "$1" > "$tmp/out" 2> "$tmp/err"
	is "$?" 127 && is "$(lines "$tmp/err")" 1 &&
		has "$tmp/err" "^rosm: $1: no MPI is found"
}
mkdir "$tmp/empty"
check missing_mpirun_is_told without_path mpirun
check missing_mpiexec_is_told without_path mpiexec.openmpi

# A program that needs no library, for which there may be no static one.
cat > "$tmp/static.c" <<'C'
void _start(void);
void _start(void)
{
	for (;;)
		__builtin_trap();
}
C
${CC:-cc} -static -nostdlib -o "$tmp/static" "$tmp/static.c" || exit 99
(
	cd "$tmp" || exit 99 # for a core file
	"$rosm" run -- "$tmp/static" 2> "$tmp/err"
) 2> /dev/null
static_told() {
	is "$(grep -c '^rosm: ' "$tmp/err")" 1 &&
		has "$tmp/err" "$1 is static: rosm cannot be put"
}
check static_program_is_told static_told static
printf '#!%s\n' "$tmp/static" > "$tmp/script"
chmod +x "$tmp/script"
(
	cd "$tmp" || exit 99 # for a core file
	"$rosm" run -- "$tmp/script" 2> "$tmp/err"
) 2> /dev/null
check static_interpreter_is_told static_told script
printf '#! /bin/sh -e\nexit 3\n' > "$tmp/script"
want=3
check script_is_run_without_a_word gives "$tmp/script"

# Of another architecture: the same file with another e_machine.
{
	head -c 18 "$tmp/static"
	printf '\377\376'
	tail -c +21 "$tmp/static"
} > "$tmp/foreign"
chmod +x "$tmp/foreign"
"$rosm" run -- "$tmp/foreign" 2> "$tmp/err"
check foreign_program_is_told has "$tmp/err" \
	'^rosm: .*foreign is built for another architecture'

# A setuid program of another user: as root one made here, else the system's.
if [ "$(id -u)" = 0 ]; then
	setuid=$tmp/setuid
	cp /bin/true "$setuid"
	chown nobody "$setuid"
	chmod 4755 "$tmp/setuid"
else
	setuid=$(command -v su)
fi
setuid_told() {
	"$rosm" run -- "$setuid" --version > "$tmp/out" 2> "$tmp/err"
	has "$tmp/err" '^rosm: .* is setuid or setgid'
}
check setuid_program_is_told setuid_told

# Nothing runs when one of rosm's objects is missing.
for object in "$fi/librosm-fi.so" "$verbs/libibverbs.so.1" \
	"$verbs/librosm-path.so"; do
	mv "$object" "$tmp/away"
	check "missing_${object##*/}_is_told" tells 125 "${object##*/}: No such" \
		touch "$tmp/ran"
	mv "$tmp/away" "$object"
done
check nothing_was_run [ ! -e "$tmp/ran" ]
rm "$verbs/libibverbs.so.1"
check without_verbs_its_library_is_not_needed "$rosm" run --no-verbs true
mkdir "$tmp/with blank"
stage_built "$tmp/with blank"
rosm="$tmp/with blank/tools/rosm"
check blank_in_the_preloads_path_is_told tells 125 LD_PRELOAD true
mkdir "$tmp/elsewhere"
cp "$top/tools/rosm" "$tmp/elsewhere/rosm"
rosm=$tmp/elsewhere/rosm
check command_away_from_its_objects_is_told tells 125 'libraries' true

# An installed tree that was moved finds its own objects.
new=$tmp/moved
rosm=$new$ROSM_TEST_BINDIR/rosm
stage "$new$ROSM_TEST_BINDIR" "$new$ROSM_TEST_PKGLIBDIR" "$new$ROSM_TEST_FIDIR"
check moved_tree_finds_its_verbs_library is "$(value LD_LIBRARY_PATH)" \
	"$new$ROSM_TEST_PKGLIBDIR${nopsm:+:$new$ROSM_TEST_PKGLIBDIR/nopsm}"
check moved_tree_finds_its_provider is "$(value FI_PROVIDER_PATH)" \
	"$new$ROSM_TEST_FIDIR"

finish
