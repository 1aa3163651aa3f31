#!/bin/sh
# The wheels for any Linux with glibc 2.28, of both architectures (packaging/wheels.sh): tags, symbols, metadata; the
# same bytes from another folder; x86-64 by pip, pipx and uv, each in an empty place, with pandas and polars.
#   test_wheels.sh BUILD SOURCE FOLDER
# The Python with PyTorch: $WARPSHEET_TEST_TORCH, python3.
set -eu
build=$1 source=$2 folder=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAIL: $*" >&2
	exit 1
}
sh "$source/packaging/wheels.sh" "$source" "$folder" >"$work/log" 2>&1 || {
	status=$?
	tail -n 20 "$work/log"
	exit $status
}
tools=$folder/check/bin
if [ ! -e "$folder/check/made" ]; then
	rm -rf "$folder/check"
	python3 -m venv "$folder/check"
	"$tools/pip" install -q auditwheel twine pipx uv pandas polars || {
		echo "SKIP: pip has no auditwheel, twine, pipx, uv, pandas and polars here"
		exit 77
	}
	touch "$folder/check/made"
fi
"$tools/twine" check "$folder"/wheels/*.whl
for machine in x86_64 aarch64; do
	wheel=$(echo "$folder"/wheels/warpsheet-*-py3-none-manylinux_2_28_$machine.whl)
	[ -f "$wheel" ] || fail "no wheel of $machine for glibc 2.28: $(ls "$folder/wheels")"
	"$tools/auditwheel" show "$wheel" >"$work/audit" || fail "auditwheel: $(cat "$work/audit")"
	tr '\n' ' ' <"$work/audit" | grep -q "following platform tag: \"manylinux_2_28_$machine\"" || fail "$(cat "$work/audit")"
	mkdir "$work/$machine"
	python3 -m zipfile -e "$wheel" "$work/$machine"
	readelf -d "$work/$machine"/*.data/data/lib/warpsheet/libwarpsheet-collect.so | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
		grep -Ev '^(libc\.so\.6|libpthread\.so\.0|libdl\.so\.2|ld-linux-aarch64\.so\.1)$' && fail "what is injected needs more than the C library"
done

# --- x86-64: installed three ways ----------------------------------------------------------------------------------
wheel=$(echo "$folder"/wheels/*_x86_64.whl)
trace=$source/fixtures/imports/alexnet-a100.json.gz
export WARPSHEET_SEGMENT_DIR="$work/segments" HOME="$work/home"
mkdir -m 700 "$work/segments" "$work/home"
python3 -m venv "$work/pip"
"$work/pip/bin/pip" install -q --no-index "$wheel"
"$tools/uv" tool install -q --no-index --python "$(command -v python3)" "$wheel" >"$work/log" 2>&1 || fail "uv: $(cat "$work/log")"
PIPX_HOME=$work/pipx PIPX_BIN_DIR=$work/pipx/bin "$tools/pipx" install -q --python "$(command -v python3)" "$wheel" >"$work/log" 2>&1 ||
	fail "pipx: $(cat "$work/log")"
for programs in "$work/pip/bin" "$work/home/.local/bin" "$work/pipx/bin"; do
	rm -rf "$work/run"
	mkdir "$work/run"
	# shellcheck disable=SC2016 # for that shell
	PATH=$programs:/usr/bin:/bin sh -euc '
		cd "$0"
		warpsheet import "$1" -o t.wtrace
		warpsheet report t.wtrace -o t.xlsx
		[ -s t.xlsx ]
		# profiles of JAX by protobuf-c; \d is of TRE alone
		warpsheet report "$2" | grep -q .
		warpsheet report t.wtrace --kernel "elementwise_kernel<\d" --table kernel-summary --format csv | grep -q elementwise
		warpsheet record -o r.wtrace -- true
		[ -s r.wtrace ]
	' "$work/run" "$trace" "$source/fixtures/recorded/jax/cpu.xplane.pb" >"$work/log" 2>&1 || fail "the programs in $programs: $(cat "$work/log")"
done
# the page's examples, and every table, as pandas and polars take them
"$tools/pip" install -q --no-index --force-reinstall "$wheel"
"$build/bin/warpsheet" import "$source/fixtures/imports/bert-small-h100.json.gz" -o "$work/run/run.wtrace" >/dev/null
cat >"$work/run/tables.py" <<'PY'
import sys
import pandas
import polars
import warpsheet

for name in sys.argv[1:]:
    try:
        table = warpsheet.report("run.wtrace", name)
    except warpsheet.Error as error:
        print(name, error)
        continue
    assert list(pandas.DataFrame(table).columns) == polars.DataFrame(table).columns == list(table)
PY
"$build/bin/warpsheet" tables | sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p' >"$work/names"
(cd "$work/run" && "$tools/python" "$source/tests/packaging/page.py" "$source" report &&
	xargs "$tools/python" tables.py <"$work/names") >"$work/log" 2>&1 || fail "the page's examples with pandas and polars: $(cat "$work/log")"
grep -q SKIP "$work/log" && fail "an example was not run: $(cat "$work/log")"
torch=${WARPSHEET_TEST_TORCH:-python3}
if "$torch" -c 'import torch' 2>/dev/null; then
	cd "$work/run"
	{
		printf 'import torch\nm = torch.nn.Linear(3, 4)\nm(torch.ones(2, 3)).sum().backward()\n' >train.py &&
			PATH=$work/pip/bin:/usr/bin:/bin warpsheet record --pytorch -o p.wtrace -- "$torch" train.py &&
			"$work/pip/bin/warpsheet" report p.wtrace -o p.xlsx &&
			"$work/pip/bin/warpsheet" report p.wtrace --table ops --format csv | grep -q aten::addmm
	} >"$work/log" 2>&1 || fail "PyTorch by the wheel: $(cat "$work/log")"
else
	echo "SKIP: no PyTorch in $torch: no program of it was recorded by the wheel"
fi

# --- the same bytes from another folder ------------------------------------------------------------------------
mkdir "$work/again"
ln -s "$folder/tools" "$work/again/tools"
sh "$source/packaging/wheels.sh" "$source" "$work/again" >"$work/log" 2>&1 || fail "again: $(tail -n 20 "$work/log")"
diff -r "$work/again/wheels" "$folder/wheels" || fail "the second wheels have other bytes"
