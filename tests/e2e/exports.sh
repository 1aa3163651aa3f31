#!/bin/sh
# A recording of ours in other tools' formats: the timeline is as its readers
# want it, and an import of the database gives the same tables.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
cd "$work"

"$ws" record --model transformer-tiny --phase step --warmup 1 --steps 3 --device cpu -o r.wtrace 2>record.txt ||
	fail "record: $(cat record.txt)"
kernels=$("$ws" info r.wtrace | awk '/^  kernel / { gsub(",", "", $2); print $2 }')
[ "$kernels" -gt 100 ] || fail "only $kernels kernels were recorded"

python3 "$tests/checks/timeline.py" "$ws" r.wtrace >timeline.txt || fail "$(cat timeline.txt)"
contains timeline.txt " $kernels arrows"

"$ws" export r.wtrace -o r.sqlite
for table in kernel-summary ranges range-kernels api-summary softmax-matmul classes steps gpu losses; do
	"$ws" report r.wtrace --table $table --format csv >want.csv
	"$ws" report r.sqlite --table $table --format csv >got.csv 2>import.txt
	cmp want.csv got.csv || fail "$table is another after the round trip"
done

"$ws" query r.wtrace "SELECT * FROM kernel_record" -o kernel.csv
equal "rows of kernel.csv" "$(($(wc -l <kernel.csv) - 1))" "$kernels"
