#!/bin/sh
# The pictures of docs/reference/tables.md and docs/laptop.md: first pages, as LibreOffice prints them and as Chromium shows them.
#   docs/images/make.sh BIN WORK [EXPORT.sqlite]
# BIN: folder of the programs; WORK: a folder for what comes between; the export is one of Nsight
# Systems, which this project may not carry: without it that picture stays as it is.
set -eu
bin=$1 work=$2 export=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
fixtures=$here/../../fixtures
mkdir -p "$work"

record() { # record NAME OPTIONS...
	name=$1
	shift
	[ -e "$work/$name.wtrace" ] || (cd "$work" && "$bin/warpsheet" record --device cpu \
		--phase step --warmup 1 --steps 4 -o "$name.wtrace" "$@")
}
picture() { # picture NAME REPORT...
	name=$1
	shift
	(cd "$work" && "$bin/warpsheet" "$@" -o "$name.xlsx" && "$bin/warpsheet" "$@" -o "$name.html" &&
		HOME=$work soffice --headless --convert-to pdf "$name.xlsx" >/dev/null 2>&1 &&
		pdftoppm -r 90 -f 1 -l 1 -singlefile -png "$name.pdf" "$here/$name" &&
		python3 "$here/../../tests/e2e/browser.py" "$name.html" "$here/$name-html.png" light 1500)
}

cp "$fixtures/imports/bert-small-h100.json.gz" "$fixtures"/traces/*.wtrace "$work"
[ -z "$export" ] || cp "$export" "$work/export.sqlite"
record transformer --model transformer-tiny
record cnn --model lenet5 --batch 16
picture report-summary report transformer.wtrace
picture report-cnn report cnn.wtrace
picture report-pytorch report bert-small-h100.json.gz
picture report-killed report killed.wtrace
picture diff diff step-fp32.wtrace step-bf16.wtrace
picture sweep sweep "$fixtures/recorded/grid"
"$bin/../tests/make_fleet" "$work/ranks" 16 20
picture ranks report ranks
[ -z "$export" ] || picture report-nsys report export.sqlite
# the page that opens traces, where `run/check laptops` has made it
page=$here/../../build/laptops/made/warpsheet.html
[ ! -e "$page" ] || {
	python3 "$here/../../tests/packaging/dropped.py" "$page" "$bin" "$here/../.." "$work"
	cp "$work/empty-light.png" "$here/page.png"
	cp "$work/comparison-light.png" "$here/page-comparison.png"
}
