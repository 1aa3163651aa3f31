#!/bin/sh
# Record fp32 and bf16, report, diff: the workbooks hold the same numbers as
# the JSON (read back with openpyxl), and are the same bytes when made again.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work"

for dtype in fp32 amp-bf16; do
	$ws record --model transformer-tiny --dtype $dtype --phase step --warmup 1 --steps 4 \
		-o $dtype.wtrace 2>record.txt
done
$ws report fp32.wtrace -o report.xlsx
cp report.xlsx first.xlsx
$ws report fp32.wtrace -o report.xlsx
cmp first.xlsx report.xlsx || fail "two reports of one trace differ"
$ws report fp32.wtrace --format json >report.json
$ws diff fp32.wtrace amp-bf16.wtrace -o diff.xlsx
$ws diff fp32.wtrace amp-bf16.wtrace -o diff.json
$ws diff fp32.wtrace amp-bf16.wtrace >diff.txt

# /usr/bin/python3 has the distribution's openpyxl
if ! /usr/bin/python3 -c 'import openpyxl' 2>/dev/null; then
	echo "SKIP: no openpyxl to read the workbooks with"
	exit 77
fi
/usr/bin/python3 "$here/compare_xlsx.py" report.json report.xlsx
/usr/bin/python3 "$here/compare_xlsx.py" diff.json diff.xlsx
