#!/bin/sh
# The wheel: the same bytes each time; in an empty venv its programs and its module work, without any
# other package, the examples of docs/python.md among them; what is injected links the C library alone.
#   test_wheel.sh BUILD
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAIL: $*"
	exit 1
}
if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
	echo "SKIP: this Python has no venv with pip"
	exit 77
fi
rm -f "$build"/packages/*.whl
for run in 1 2; do
	cmake --build "$build" --target wheel >"$work/log" 2>&1 || {
		cat "$work/log"
		fail "no wheel"
	}
	mkdir "$work/$run"
	mv "$build"/packages/*.whl "$work/$run/"
done
wheel=$(echo "$work"/1/*.whl)
cmp "$wheel" "$work/2/$(basename "$wheel")" || fail "the second wheel has other bytes"
case $wheel in
*-py3-none-manylinux_2_[0-9]*_$(uname -m).whl) ;;
*) fail "the name of $wheel" ;;
esac
cp "$wheel" "$build/packages/"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-index --no-cache-dir "$wheel" >"$work/log" 2>&1 || {
	cat "$work/log"
	fail "pip does not take it"
}
readelf -d "$work/venv/lib/warpsheet/libwarpsheet-collect.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' >"$work/needed"
[ "$(cat "$work/needed")" = libc.so.6 ] || fail "the injected library needs $(cat "$work/needed")"

mkdir -m 700 "$work/segments"
cat >"$work/program.py" <<'PY'
import warpsheet

for i in range(3):
    with warpsheet.step():
        with warpsheet.annotate("work"):
            pass


@warpsheet.annotate("nan")  # a text, whatever it reads as
def decorated():
    return 7


with warpsheet.step():
    assert decorated() == 7
PY
cat >"$work/look.py" <<'PY'
import os
import sys
import warpsheet

ranges = warpsheet.report(sys.argv[1], "ranges")
rows = dict(zip(ranges["Path"], ranges["Instances"]))
assert rows["step"] == 4 and rows["step/work"] == 3 and rows["step/nan"] == 1, rows
assert None in ranges["Domain"], "the default domain has no name: an empty cell is None"
assert isinstance(ranges["Instances"][0], int)
try:
    warpsheet.report("no such file", "ranges")
except warpsheet.Error as error:
    assert "no such file" in str(error).lower()
else:
    raise AssertionError("an error is an exception")
PY
"$build/bin/warpsheet" import "$here/../../fixtures/imports/bert-small-h100.json.gz" -o "$work/run.wtrace" >/dev/null
# with nothing of the machine's own in PATH but the system's
cd "$work"
# shellcheck disable=SC2016 # for that shell
env -i PATH="$work/venv/bin:/usr/bin:/bin" HOME="$work" WARPSHEET_SEGMENT_DIR="$work/segments" sh -euc '
	python program.py
	warpsheet record -o t.wtrace -- python program.py
	python look.py t.wtrace
	warpsheet report t.wtrace -o t.xlsx
	warpsheet record -o page.wtrace -- python "$0/page.py" "$0/../.." program
	warpsheet report page.wtrace --table ranges --scope all --format csv >page.csv
	grep -q evaluation page.csv
	grep -q tokenize page.csv
	python "$0/page.py" "$0/../.." report
' "$here" >"$work/log" 2>&1 || {
	cat "$work/log"
	fail "the programs of the wheel"
}
[ -s t.xlsx ] || fail "no workbook"
