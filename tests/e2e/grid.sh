# The recorded grid in fixtures/recorded/grid: sweep and pivot as a second program makes them from raw rows.
set -eu
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
grid=$here/../../fixtures/recorded/grid

"$ws" sweep "$grid" --table sweep --format csv >"$work/sweep.csv"
"$ws" sweep "$grid" --table sweep-pivot --format csv >"$work/pivot.csv"
python3 "$here/grid.py" "$ws" "$grid" "$work"
