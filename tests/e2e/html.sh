#!/bin/sh
# report.html in a real browser, looked at and used: pages.py.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
bin=$1
cd "$work"
"$bin/../tests/make_fleet" ranks 8 2
"$bin/../tests/bench_trace" 400000 long.wtrace >/dev/null
"$ws" report ranks -o ranks.html
ten_gpus gpus.wtrace "$bin"
"$ws" report gpus.wtrace -o gpus.html
python3 "$here/pages.py" "$ws" "$work" "$here/../.."
"$ws" report "$here/../../fixtures/traces/step-fp32.wtrace" --table steps --format csv -o - >steps.csv
"$ws" report "$here/../../fixtures/traces/step-fp32.wtrace" --table steps --format csv | cmp - steps.csv ||
	fail "-o - is not stdout"
[ ! -e ./- ] || fail "-o - made a file"
