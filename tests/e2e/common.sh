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
