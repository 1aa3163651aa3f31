#!/bin/sh
# AArch64 under QEMU, with Debian's libraries for it: reports of imported traces by the wheel's program, workbook and
# all, are those of the build, byte for byte; and the C tests of formats and report, from the wheel's object files.
#   test_aarch64.sh BUILD SOURCE FOLDER
set -eu
build=$1 source=$2 folder=$3
fail() {
	echo "FAIL: $*" >&2
	exit 1
}
skip() {
	echo "SKIP: $*: nothing of AArch64 was run"
	exit 77
}
# Programs start one another, so the kernel has to know what runs them. Where it does not, it is told for this process
# and its children alone.
format=/usr/lib/binfmt.d/qemu-aarch64.conf
if [ "${4:-}" != told ] && [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
	[ -r $format ] || skip "no $format (package qemu-user-binfmt)"
	# shellcheck disable=SC2016 # for that shell
	unshare --user --map-root-user --mount mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null ||
		skip "QEMU is not registered, and this kernel lets no process do so for itself (Linux 6.7)"
	exec unshare --user --map-root-user --mount sh "$0" "$build" "$source" "$folder" told
fi
if [ "${4:-}" = told ]; then
	mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
	cat $format >/proc/sys/fs/binfmt_misc/register
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$source/packaging/wheels.sh" "$source" "$folder" aarch64 tests >"$work/log" 2>&1 || {
	status=$?
	tail -n 20 "$work/log"
	exit $status
}
export QEMU_LD_PREFIX="$folder/aarch64/system"

# --- reports -------------------------------------------------------------------------------------
cd "$work"
python3 -m zipfile -e "$folder"/wheels/*_aarch64.whl wheel
mv wheel/*.data/scripts bin
mv wheel/*.data/data/lib lib
chmod 755 bin/*
arm=$work/bin/warpsheet
"$arm" version | grep -q '^warpsheet' || fail "the program of AArch64 does not start"
for trace in "$source"/fixtures/imports/*.json.gz; do
	"$build/bin/warpsheet" import "$trace" -o ours.wtrace >/dev/null
	"$arm" import "$trace" -o arm.wtrace >/dev/null
	cmp ours.wtrace arm.wtrace || fail "the trace of $(basename "$trace") has other bytes"
	for options in "--format md" "--format html" "--table kernel-summary --format json" "--table ops --format csv" \
		"--table softmax-matmul --format csv"; do
		# shellcheck disable=SC2086 # options
		{
			"$build/bin/warpsheet" report ours.wtrace $options >ours.out 2>err || fail "$trace, $options: $(cat err)"
			"$arm" report ours.wtrace $options >arm.out 2>err || fail "$trace, $options, on AArch64: $(cat err)"
		}
		if [ ! -s ours.out ] || ! cmp ours.out arm.out; then
			fail "$(basename "$trace"), $options: another report"
		fi
	done
	"$arm" report ours.wtrace -o arm.xlsx >/dev/null
	"$build/bin/warpsheet" report ours.wtrace -o ours.xlsx >/dev/null
	for book in ours arm; do
		rm -rf $book.parts
		python3 -m zipfile -e $book.xlsx $book.parts
		rm $book.parts/docProps/core.xml # when it was made
	done
	diff -r ours.parts arm.parts || fail "$(basename "$trace"): another workbook"
done

# --- C tests --------------------------------------------------------------------------------------
# QEMU keeps no limits of memory, has memory of its own, and takes ten times as long
left_out='!(arena/large_pieces_need_no_memory|trace_memory/*|broken_json/what_waits_for_the_end_costs_its_text_and_100_bytes)'
all=0
for program in "$folder"/aarch64/build/tests/test_formats_* "$folder"/aarch64/build/tests/test_report_*; do
	"$folder/aarch64/build/tests/keeper" "$program" --filter "$left_out" >"$work/log" 2>&1 || {
		cat "$work/log"
		fail "$(basename "$program") on AArch64"
	}
	n=$(sed -n 's/.*Tested: \([0-9]*\) .*/\1/p' "$work/log")
	[ "${n:-0}" -gt 0 ] || fail "$(basename "$program"): no test was run"
	all=$((all + n))
done
echo "C tests on AArch64: $all passed; left out: $left_out"
