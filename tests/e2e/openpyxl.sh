#!/bin/sh
# openpyxl reads the workbooks of an imported trace and of a diff: every number is as in the JSON.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
fixtures=$here/../../fixtures
cd "$work"

"$ws" report "$fixtures/imports/bert-small-h100.json.gz" -o report.xlsx 2>import.txt
"$ws" report "$fixtures/imports/bert-small-h100.json.gz" -o report.json 2>import.txt
"$ws" diff "$fixtures/traces/step-fp32.wtrace" "$fixtures/traces/step-bf16.wtrace" -o diff.xlsx
"$ws" diff "$fixtures/traces/step-fp32.wtrace" "$fixtures/traces/step-bf16.wtrace" -o diff.json
for name in report diff; do
	python3 "$here/../workbooks/check_xlsx.py" $name.xlsx $name.json
done
# the distribution's Python has its package, whatever Python comes first here
python=python3
python3 -c 'import openpyxl' 2>/dev/null || python=/usr/bin/python3
for name in report diff; do
	$python "$here/../workbooks/check_openpyxl.py" $name.xlsx $name.json
done
