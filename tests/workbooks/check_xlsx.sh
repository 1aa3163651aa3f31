#!/bin/sh
# check_xlsx.sh MAKE_WORKBOOK [SOFFICE]: a workbook of hand-made tables reads back as their JSON;
# with "soffice" also after LibreOffice has opened it and saved it again.
set -eu
skip() {
	echo "SKIP: $*"
	exit 77
}
command -v python3 >/dev/null || skip "no python3 to read the workbook with"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work"
set -- "${2:-}"
resaved=
if [ "$1" = soffice ]; then
	soffice=$(command -v soffice || command -v libreoffice || true)
	[ -n "$soffice" ] || skip "no LibreOffice to open the workbook with"
	mkdir "$work/out"
	HOME=$work "$soffice" --headless --convert-to xlsx --outdir "$work/out" "$work/hand.xlsx" \
		>"$work/log" 2>&1 || {
		cat "$work/log"
		exit 1
	}
	resaved=$work/out/hand.xlsx
fi
python3 "$(dirname "$0")/check_xlsx.py" --created 2025-11-20T12:00:00Z \
	"$work/hand.xlsx" "$work/hand.json" ${resaved:+"$resaved"}
