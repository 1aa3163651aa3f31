#!/bin/sh
# Every source file has its line in docs/architecture.md, and every line its
# file: check_architecture.sh ROOT
set -eu
cd "$1"
bad=0
page=docs/architecture.md

# the names of a section's table, one a line
listed() {
	awk -v section="### $1/" '
		index($0, "### ") == 1 { on = index($0, section) == 1 }
		on && /^\|/ { n = split($0, cell, "|"); print cell[2] }' $page |
		grep -o '`[^`]*`' | tr -d '`' | grep -v '^file$' | sort -u
}

for folder in formats kernels recorder report; do
	listed $folder >"${TMPDIR:-/tmp}/listed.$$"
	(cd $folder && find . -type f \( -name '*.[ch]' -o -name '*.def' -o -name '*.cu' -o -name '*.cuh' \
		-o -name '*.txt' -o -name '*.cmake' \) ! -name CMakeLists.txt) |
		sed 's|^\./||; s|\.[a-z]*$||' | sort -u >"${TMPDIR:-/tmp}/there.$$"
	for name in $(comm -13 "${TMPDIR:-/tmp}/listed.$$" "${TMPDIR:-/tmp}/there.$$"); do
		echo "$page: $folder/$name is not listed"
		bad=1
	done
	for name in $(comm -23 "${TMPDIR:-/tmp}/listed.$$" "${TMPDIR:-/tmp}/there.$$"); do
		echo "$page: $folder/$name is listed, but there is no such file"
		bad=1
	done
	rm -f "${TMPDIR:-/tmp}/listed.$$" "${TMPDIR:-/tmp}/there.$$"
done
exit $bad
