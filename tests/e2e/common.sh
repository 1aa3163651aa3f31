# shellcheck shell=sh disable=SC2034
# Shared by the end-to-end tests: $1 is the bin/ folder of the build tree.
# Each test works in a folder of its own and fails at the first wrong thing.
set -eu
# shellcheck source=tests/environment/variables.sh
. "$(dirname "$0")/../environment/variables.sh"

ws=$1/warpsheet
# nothing that others leave in shared places is seen, and nothing of ours is left there
work=$(mktemp -d)
mkdir -m 700 "$work/segments" "$work/tmp"
export WARPSHEET_SEGMENT_DIR="$work/segments" TMPDIR="$work/tmp"
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# A trace of ten GPUs with samples; the power of the second one is not known: ten_gpus PATH BIN
ten_gpus() {
	for d in 0 1 2 3 4 5 6 7 8 9; do
		[ $d = 0 ] && echo "trace $1" && echo || echo "device id=$d kind=cuda name=GPU"
		echo "launch ${d}ms k $((d + 1))ms 300ms device=$d"
		for at in 10 110 210 310; do
			[ $d = 1 ] && power=-1 || power=$((300 + d * 10 + at))000
			echo "gpu_sample time_ns=${at}ms device=$d energy_mj=$((at * 300)) power_mw=$power sm_mhz=$((1900 - at)) memory_mhz=2619 temperature_c=50 throttle=0"
		done
	done >gpus.txt
	echo done | cat gpus.txt - | "$2/../tests/scenario_trace" >made.txt
}

# The cell of one CSV row: csv_cell FILE COLUMN KEYCOLUMN=VALUE…
csv_cell() {
	python3 - "$@" <<'PY'
import csv, sys

path, column, *keys = sys.argv[1:]
want = dict(k.split("=", 1) for k in keys)
with open(path, newline="", encoding="utf-8") as f:
    rows = [r for r in csv.DictReader(f) if all(r[k] == v for k, v in want.items())]
if len(rows) != 1:
    sys.exit(f"{path}: {len(rows)} rows have {want}")
print(rows[0][column])
PY
}

equal() { # equal WHAT GOT WANT
	[ "$2" = "$3" ] || fail "$1 is $2, not $3"
}

contains() { # contains FILE TEXT
	grep -qF -- "$2" "$1" || {
		cat "$1" >&2
		fail "no '$2' in the text above"
	}
}
