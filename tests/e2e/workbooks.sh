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

# of ten GPUs, of which the charts over time draw a line each as far as the colours go, without the one whose power is not known
ten_gpus gpus.wtrace "$1"
"$ws" report gpus.wtrace -o gpus.xlsx
"$ws" report gpus.wtrace -o gpus.json
python3 "$here/../workbooks/check_xlsx.py" gpus.xlsx gpus.json
python3 - <<'PY'
import re, zipfile
book = zipfile.ZipFile("gpus.xlsx")
charts = [text for n in book.namelist() if n.startswith("xl/charts/chart") for text in [book.read(n).decode()] if "over time" in text]
for name, lines in (("Power over time, the first 8 of 9 devices", "02345678"), ("SM clock over time, the first 8 of 10 devices", "01234567")):
    drawn = ["".join(re.findall("<c:tx><c:v>Device ([0-9]+)<", text)) for text in charts if f"<a:t>{name}<" in text]
    if drawn != [lines]:
        raise SystemExit(f"FAIL: {name}: {drawn}")
PY
