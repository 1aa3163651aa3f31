#!/bin/sh
# The page that opens traces and the package for Node (packaging/page): made twice with the same bytes; the page in
# Chromium, the package as npm installs it. Files that they make are compared with the program's, byte by byte.
#   test_page.sh BUILD SOURCE FOLDER
set -eu
build=$1 source=$2 folder=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAIL: $*" >&2
	exit 1
}
make_page() {
	sh "$source/packaging/laptops.sh" "$source" "$folder" wasm >"$work/log" 2>&1 || {
		status=$?
		tail -n 20 "$work/log"
		[ $status != 77 ] || echo "SKIP: $(tail -n 1 "$work/log"): the page was not made"
		exit $status
	}
}
make_page
cp -r "$folder/made" "$work/first"
rm -rf "$folder/wasm/build" "$folder/made/npm" "$folder/made/warpsheet.html"
make_page
for file in warpsheet.html npm; do
	diff -r "$work/first/$file" "$folder/made/$file" >/dev/null || fail "$file has other bytes when it is made again"
done
seen=0
python3 "$source/tests/packaging/dropped.py" "$folder/made/warpsheet.html" "$build/bin" "$source" || seen=$?
[ $seen = 0 ] || [ $seen = 77 ] || exit $seen

command -v npm >/dev/null || {
	echo "SKIP: no npm here: the package for Node was made, but not installed"
	exit 77
}
PATH=$build/bin:$PATH
mkdir "$work/npm" "$work/here"
(cd "$work/npm" && npm pack --silent "$folder/made/npm" >/dev/null && npm install --silent --offline --no-audit --no-fund ./warpsheet-*.tgz) >"$work/log" 2>&1 ||
	fail "npm: $(cat "$work/log")"
cp "$source"/fixtures/traces/step-fp32.wtrace "$source"/fixtures/recorded/aa/mlp-r[12].wtrace "$source/fixtures/imports/bert-small-h100.json.gz" "$work/here"
mkdir "$work/here/runs"
cp "$source"/fixtures/recorded/aa/*.wtrace "$work/here/runs"
# both PROGRAM...: what a command prints, its exit status and the files that it makes, of the program and of the package
npx=$work/npm/node_modules/.bin/warpsheet
as() { # as NAME PROGRAM ARGUMENTS...: in a folder of its own
	name=$1
	shift
	rm -rf "${work:?}/$name"
	cp -r "$work/here" "$work/$name"
	status=0
	(cd "$work/$name" && "$@" >stdout 2>stderr <"$work/input") || status=$?
	echo "$status" >"$work/$name/status"
}
cases=0
both() {
	as native warpsheet "$@"
	as node "$npx" "$@"
	diff -r "$work/native" "$work/node" || fail "warpsheet $* of the package differs"
	cases=$((cases + 1))
}
: >"$work/input"
(cd "$work/npm" && npx --offline warpsheet version) >"$work/version" || fail "npx: $(cat "$work/version")"
grep -q '^warpsheet [0-9]' "$work/version" || fail "npx says: $(cat "$work/version")"
for command in "report step-fp32.wtrace" "report step-fp32.wtrace -o report.html" "report step-fp32.wtrace -o report.xlsx" "report bert-small-h100.json.gz -o r.json" \
	"report step-fp32.wtrace --table kernel-summary -o k.csv" "diff mlp-r1.wtrace mlp-r2.wtrace" "diff mlp-r1.wtrace mlp-r2.wtrace -o d.html" "aa runs" "sweep runs -o sweep.xlsx" \
	"info step-fp32.wtrace" "check step-fp32.wtrace" "export step-fp32.wtrace -o e.json" "export step-fp32.wtrace -o e.sqlite" "export step-fp32.wtrace -o parquet --format parquet" \
	"import bert-small-h100.json.gz -o i.wtrace" "report nothing.wtrace" "report step-fp32.wtrace -o nowhere/report.html" "report" "reprot" "help diff" "tables" "query step-fp32.wtrace --format csv"; do
	# shellcheck disable=SC2086 # words on purpose
	both $command
done
echo 'SELECT name, instances FROM kernel_summary ORDER BY 2 DESC, 1' >"$work/input"
both query step-fp32.wtrace --sql -
echo "$cases commands of the package make what the program makes"
exit $seen
