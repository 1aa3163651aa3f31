#!/bin/sh
# What a program prints and writes of the fixtures, in files to be compared: outputs.sh PROGRAM FIXTURES OUT.
# Of each command stdout, stderr and exit status; of a file that it makes the file.
set -u
program=$1 fixtures=$(cd "$2" && pwd)
rm -rf "$3"
mkdir -p "$3"
out=$(cd "$3" && pwd)
cd "$out" || exit 1
ln -s "$fixtures" fixtures
TMPDIR=$out/tmp
mkdir "$TMPDIR"
export TMPDIR COLUMNS=100 TZ=UTC LC_ALL=C NO_COLOR=1
run() { # run NAME ARGUMENT...
	name=$1
	shift
	"$program" "$@" >"$name.stdout" 2>"$name.stderr" </dev/null
	echo $? >"$name.status"
}
a=fixtures/traces/step-fp32.wtrace b=fixtures/traces/step-bf16.wtrace
mkdir files
for trace in step-fp32 step-bf16 killed hostile empty; do
	t=fixtures/traces/$trace.wtrace
	run "info-$trace" info $t
	run "check-$trace" check $t
	run "report-$trace" report $t
	for format in html xlsx json md; do
		run "report-$trace-$format" report $t -o files/$trace.$format
	done
done
for format in html xlsx json md; do
	run "diff-$format" diff $a $b -o files/diff.$format
done
run diff diff $a $b
run h100 report fixtures/recorded/h100/torch.wtrace -o files/h100.html
for import in alexnet-a100 bert-small-h100 event-sync-a100; do
	i=fixtures/imports/$import.json.gz
	run "report-$import" report $i
	run "report-$import-html" report $i -o files/$import.html
	run "import-$import" import $i -o files/$import.wtrace
done
for format in json json.gz sqlite pftrace collapsed; do
	run "export-$format" export $a -o files/export.$format
done
run export-parquet export $a --format parquet -o files/parquet
run tables report $a --table kernel-summary --format csv
run trace report $a --table kernel-trace --scope all --format csv
run query query $a "SELECT name, count_of(times), deviation_of(times) FROM cell" --format csv
run sweep sweep fixtures/recorded/grid
run aa aa fixtures/recorded/aa
run gate-update gate --baseline files/base --workload step --update $a
run gate gate --baseline files/base --workload step $b
run whatif report $a --whatif 'class=gemm x0.5'
run wrong-pattern report $a --kernel '('
run no-such-file report no-such.wtrace
run broken check fixtures/broken/flipped-bit.wtrace
run truncated report fixtures/broken/truncated.wtrace
run help help report
run help-tables help tables
run kernels report fixtures/recorded/h100/torch.wtrace --table kernel-summary --format csv
rm -rf tmp fixtures
