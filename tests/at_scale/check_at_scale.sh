#!/bin/sh
# Many traces in an engine, DuckDB or Apache Spark:
#   check_at_scale.sh SOURCE BINARY [--update | --commands | --spark]
# With --commands it runs the commands of docs/reference/at-scale.md as they are printed, in an empty folder that it
# leaves in BINARY/at_scale/page. Else, behind that, it reads what is hard to encode back (read_extremes.mjs), a fleet (read_back.mjs), and hostile, damaged
# and imported traces (read_one.mjs), and runs the queries of docs/reference/at-scale.md on the fleet
# (run_page.mjs). With --spark it runs these queries in Spark (spark.py), on the fleet and on the files of 1,000 ranks, by the
# Python that WARPSHEET_TEST_SPARK names. DuckDB comes from the npm registry into BINARY/at_scale, once.
# Exit status 77, which CTest shows as skipped, where npm or the package is not to be had.
set -eu

source=$1
binary=$2
update=${3:-}
here=$source/tests/at_scale
page=$binary/at_scale/page
rc=0
AT_SCALE_MODULES=$binary/at_scale
export AT_SCALE_MODULES

skip() {
	echo "skipped: $1"
	exit 77
}

warpsheet=$binary/bin/warpsheet
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# export_one TRACE FOLDER REPORT: as docs/reference/at-scale.md says, and our own report beside it
export_one() {
	mkdir -p "$2/report"
	"$warpsheet" export "$1" -o "$2/events" --format parquet
	"$warpsheet" export "$1" -o "$2/rollups" --format parquet --rollup
	"$warpsheet" report "$1" --scope all --table kernel-summary -o "$2/report/$3"
}

if [ "$update" = --commands ]; then
	awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source/docs/reference/at-scale.md" >"$work/commands"
	rm -rf "$page"
	mkdir -p "$page"
	(cd "$page" && PATH=$binary/bin:$binary/tests:$PATH sh -eu "$work/commands" >"$work/verdict") || rc=1
	for rank in 80 625; do
		grep -q "rank $rank causes " "$work/verdict" || {
			echo "WRONG: our own report does not find the slow rank $rank"
			rc=1
		}
	done
	exit $rc
fi

for program in node npm; do
	command -v $program >/dev/null || skip "there is no $program"
done
mkdir -p "$AT_SCALE_MODULES"
if ! cmp -s "$here/package.json" "$AT_SCALE_MODULES/package.json" ||
	[ ! -d "$AT_SCALE_MODULES/node_modules/@duckdb/node-api" ]; then
	cp "$here/package.json" "$AT_SCALE_MODULES/package.json"
	(cd "$AT_SCALE_MODULES" && timeout 120 npm install --no-audit --no-fund --no-package-lock) ||
		skip "npm does not give @duckdb/node-api"
fi

if [ "$update" = --spark ]; then
	[ -n "${WARPSHEET_TEST_SPARK:-}" ] || skip "WARPSHEET_TEST_SPARK names no Python with pyspark: run/check spark makes one"
	command -v java >/dev/null || skip "there is no java"
	"$WARPSHEET_TEST_SPARK" "$here/spark.py" "$source/docs/reference/at-scale.md" "$page/fleet" || rc=1
	for rollup in '' --rollup; do
		# shellcheck disable=SC2086 # nothing, or one word
		"$warpsheet" export "$page/thousand" -o "$work/all" --format parquet $rollup
	done
	AT_SCALE_FOLDER=$work/all node "$here/run_page.mjs" "$source/docs/reference/at-scale.md" --answers "$work/answers.json"
	"$WARPSHEET_TEST_SPARK" "$here/spark.py" "$source/docs/reference/at-scale.md" "$work/all" "$work/answers.json" || rc=1
	exit $rc
fi

"$binary/tests/make_extremes" "$work/extremes"
AT_SCALE_FOLDER=$work node "$here/read_extremes.mjs" || rc=1

mkdir -p "$page/fleet/report"
for trace in "$page"/traces/*.wtrace; do
	"$warpsheet" report "$trace" --scope all --table kernel-summary -o "$page/fleet/report/$(basename "$trace").csv"
done
AT_SCALE_FOLDER=$page/fleet node "$here/read_back.mjs" || rc=1
# shellcheck disable=SC2086 # nothing, or one word
AT_SCALE_FOLDER=$page/fleet node "$here/run_page.mjs" "$source/docs/reference/at-scale.md" $update || rc=1

for trace in "$source/fixtures/traces/hostile.wtrace" "$source/fixtures/traces/killed.wtrace" \
	"$source"/fixtures/imports/*.json.gz; do
	one=$work/one-$(basename "$trace")
	export_one "$trace" "$one" "$(basename "$trace").json"
	AT_SCALE_FOLDER=$one node "$here/read_one.mjs" || rc=1
done
exit $rc
