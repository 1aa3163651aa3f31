# shellcheck shell=sh disable=SC2034
# Shared by these tests: $python is the one with PyTorch ($WARPSHEET_TEST_TORCH, else that of `run/setup ci`, else
# python3); skips visibly without.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/../e2e/common.sh"

here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/torch/bin/python
[ -x "$python" ] || python=python3
python=${WARPSHEET_TEST_TORCH:-$python}
if ! "$python" -c 'import torch' 2>/dev/null; then
	echo "SKIP: no PyTorch in $python: \`run/setup ci\` fetches one where pip has it"
	exit 77
fi
cd "$work"

cp "$here/small.py" .

table() { # table TRACE NAME: as CSV
	"$ws" report "$1" --table "$2" --format csv -o "$1.$2.csv" >/dev/null
}

is_small() { # is_small TRACE: it has the operations of small.py, with FLOPs: of both layers, in two measured steps
	table "$1" ops
	equal "FLOPs of addmm in $1" "$(csv_cell "$1.ops.csv" FLOPs Name=aten::addmm)" $((2 * (4 * 16 * (2 * 8 + 1) + 4 * 2 * (2 * 16 + 1))))
}

found_steps() { # found_steps TRACE: as the programs print it
	table "$1" steps
	python3 - "$1.steps.csv" <<'PY'
import csv
import sys

rows = [r for r in csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8")) if r["Warm-up"] == "no"]
apart = sum(bool(r["Contains"]) for r in rows)
print(f"steps {len(rows) - apart} apart {apart}")
PY
}
