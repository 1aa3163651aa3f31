#!/bin/sh
# The rows of docs/dev/seeds.md: measure.sh BIN [FULL]
# Records each row of rows.txt and prints a Markdown table. Without FULL the
# options for a machine without a GPU are added after the row's own, and rows
# marked "no" are listed without numbers.
set -eu
ws=$1/warpsheet
full=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

stat_of() { # stat_of PHASE: "mean ± std" in ms, "" when the phase did not run
	python3 - "$work/s.csv" "$1" <<'PY'
import csv, sys

for row in csv.DictReader(open(sys.argv[1], newline="")):
    if row["Phase"] == sys.argv[2] and row["Mean (ns)"]:
        std = f" ± {float(row['StdDev (ns)']) / 1e6:.1f}" if row["StdDev (ns)"] else ""
        print(f"{float(row['Mean (ns)']) / 1e6:.1f}{std}")
        break
PY
}

echo "| seed | row | \`warpsheet record\` options | the seed's own | run here with | forward ms | backward ms | optimizer ms | step ms |"
echo "|---|---|---|---|---|---|---|---|---|"
grep -v '^#' "$here/rows.txt" | while IFS='|' read -r seed row options small own; do
	# shellcheck disable=SC2086,SC2116 # takes the blanks off
	seed=$(echo $seed) row=$(echo $row) options=$(echo $options) small=$(echo $small) own=$(echo $own)
	extra=$small
	case $small in
	-) extra= ;;
	no) [ -n "$full" ] || { echo "| $seed | $row | \`$options\` | $own | not run on a CPU | | | | |"; continue; } ;;
	esac
	[ -z "$full" ] || extra=
	# shellcheck disable=SC2086 # lists of words
	if "$ws" record $options $extra -o "$work/t.wtrace" 2>"$work/words" </dev/null; then
		"$ws" report "$work/t.wtrace" --table step-statistics --format csv >"$work/s.csv"
		echo "| $seed | $row | \`$options\` | $own | ${extra:+\`$extra\`} | $(stat_of forward) | $(stat_of backward) | $(stat_of optimizer) | $(stat_of total) |"
	else
		echo "| $seed | $row | \`$options\` | $own | ${extra:+\`$extra\`} | failed: $(tail -n 1 "$work/words") | | | |"
	fi
done
