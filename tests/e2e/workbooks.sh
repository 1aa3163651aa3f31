#!/bin/sh
# Record fp32 and bf16, report, diff: the workbooks hold the same numbers as
# the JSON, and are the same bytes when made again.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work"

for dtype in fp32 amp-bf16; do
	"$ws" record --model transformer-tiny --dtype $dtype --phase step --warmup 1 --steps 4 \
		-o $dtype.wtrace 2>record.txt
done
"$ws" report fp32.wtrace -o report.xlsx
cp report.xlsx first.xlsx
"$ws" report fp32.wtrace -o report.xlsx
cmp first.xlsx report.xlsx || fail "two reports of one trace differ"
"$ws" report fp32.wtrace --format json >report.json
"$ws" diff fp32.wtrace amp-bf16.wtrace -o diff.xlsx
"$ws" diff fp32.wtrace amp-bf16.wtrace -o diff.json
"$ws" diff fp32.wtrace amp-bf16.wtrace >diff.txt

python3 "$here/../workbooks/check_xlsx.py" report.xlsx report.json
python3 "$here/../workbooks/check_xlsx.py" diff.xlsx diff.json

# of an import, too, which has other tables
import=$here/../../fixtures/imports/bert-small-h100.json.gz
"$ws" report "$import" -o import.xlsx 2>import.txt
"$ws" report "$import" -o import.json 2>import.txt
python3 "$here/../workbooks/check_xlsx.py" import.xlsx import.json

# of a database, whose pages a second thread checks while rows are read
"$ws" export fp32.wtrace -o fp32.sqlite
"$ws" import fp32.sqlite -o back.wtrace >import.txt
contains import.txt "records read"
