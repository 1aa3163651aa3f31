#!/bin/sh
# LibreOffice opens the workbooks without repair: it converts them to PDF and
# finds every sheet.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$work"

soffice=$(command -v soffice || command -v libreoffice || true)
if [ -z "$soffice" ]; then
	echo "SKIP: no LibreOffice to open the workbooks with"
	exit 77
fi
"$ws" record --model transformer-tiny --phase step --warmup 1 --steps 4 -o a.wtrace 2>record.txt
"$ws" record --model transformer-tiny --dtype amp-bf16 --phase step --warmup 1 --steps 4 -o b.wtrace 2>record.txt
"$ws" report a.wtrace -o report.xlsx
"$ws" diff a.wtrace b.wtrace -o diff.xlsx
HOME=$work "$soffice" --headless --convert-to pdf --outdir . report.xlsx diff.xlsx >convert.txt 2>&1 ||
	fail "conversion: $(cat convert.txt)"
for pdf in report.pdf diff.pdf; do
	[ "$(head -c 5 $pdf)" = "%PDF-" ] || fail "$pdf is no PDF: $(cat convert.txt)"
done
# printed, the first page has the answer; every sheet is one page wide and as many high as it needs
if ! command -v pdftotext >/dev/null; then
	echo "SKIP: no pdftotext to read the printed page with"
	exit 77
fi
pdftotext -f 1 -l 1 report.pdf first.txt
contains first.txt 'A step takes'
contains first.txt 'Where the step goes'
contains first.txt 'Where in the model'
contains first.txt 'Kernels that cost most'

# on paper the largest recordings take 15 pages at most, without definitions and details
for trace in "$here"/../../fixtures/recorded/h100/*.wtrace; do
	"$ws" report "$trace" -o "$(basename "$trace" .wtrace)-paper.xlsx"
done
HOME=$work "$soffice" --headless --convert-to pdf --outdir . ./*-paper.xlsx >convert.txt 2>&1 ||
	fail "conversion: $(cat convert.txt)"
for pdf in *-paper.pdf; do
	pdftotext -layout "$pdf" paper.txt
	pages=$(tr -cd '\f' <paper.txt | wc -c)
	[ "$pages" -ge 8 ] && [ "$pages" -le 15 ] || fail "$pdf has $pages pages"
	grep -qE ': 24 of [0-9]+ rows' paper.txt || fail "$pdf does not say how many rows are left out"
	grep -qE ' (Definitions|Range Kernels|Losses) +page' paper.txt && fail "$pdf prints details"
done
exit 0
