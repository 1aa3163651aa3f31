# names that a program gives to streams, contexts and devices, in tables and exports
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

record 'what is named has the number that CUPTI gives it' @names count=100
resources() {
	warpsheet report "$1" --table resources --format csv --columns type,name,number,handle | tr -d '\r'
}
resources t.wtrace
ask 'SELECT stream_name, count(*) FROM kernel GROUP BY 1'
warpsheet report t.wtrace --table gpu | grep -o 'calls device 0 `the only one`'
warpsheet export t.wtrace --format json -o /dev/stdout | grep -o '(the only one)\|stream 7: compute (context 1: main context of process' | sort | uniq -c | sed 's/^ *[0-9]* //'
warpsheet export -o x.sqlite t.wtrace 2>said && warpsheet import x.sqlite -o back.wtrace >said 2>&1
resources t.wtrace >before
resources back.wtrace | cmp - before
