#!/bin/sh
# two_threads.sh BENCH_TRACE WARPSHEET: a report is the same however the threads that read it meet.
# Under the thread sanitizer: they share nothing that they do not hand over.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" 60000 "$work/t.wtrace" >/dev/null
for table in kernel-summary ranges; do
	for again in 1 2 3; do
		"$2" report --table $table --format csv "$work/t.wtrace" >"$work/$table.$again"
		cmp "$work/$table.1" "$work/$table.$again"
	done
	grep -q gemm "$work/kernel-summary.1"
done
