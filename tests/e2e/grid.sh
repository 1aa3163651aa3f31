# The recorded grid in fixtures/recorded/grid: sweep, pivot and scaling as a second program makes them from raw rows.
set -eu
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
grid=$here/../../fixtures/recorded/grid

"$ws" sweep "$grid" --table sweep --format csv >"$work/sweep.csv"
"$ws" sweep "$grid" --table sweep-pivot --format csv >"$work/pivot.csv"
"$ws" sweep "$grid" --table sweep-scaling --format csv >"$work/scaling.csv"
python3 "$here/grid.py" "$ws" "$grid" "$work"
