#!/bin/sh
# Take in what a sitting brought back:
#   take.sh ARCHIVE [SOURCE]
# ARCHIVE: answers-N.tar.gz of sit.sh. SOURCE: the project (this one). Traces named gpu-*.wtrace
# go to fixtures/traces/, the table of figures to the end of docs/dev/measurements.md, kernels whose
# class was unknown to fixtures/traces/gpu-unknown-kernels.txt, for class_rules.txt. Ends with 1
# when the archive has no table.
set -eu

[ $# -ge 1 ] || {
	sed -n '2,8s/^# \{0,1\}//p' "$0"
	exit 2
}
archive=$1
source=${2:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$work" -xzf "$archive"
[ -s "$work/table.txt" ] || {
	echo "take.sh: $archive has no table.txt: it is no archive of sit.sh" >&2
	exit 1
}

mkdir -p "$source/fixtures/traces"
taken=0
for trace in "$work"/gpu-*.wtrace; do
	[ -e "$trace" ] || continue
	cp "$trace" "$source/fixtures/traces/"
	taken=$((taken + 1))
done

# Names that no rule of class_rules.txt knows.
python3 - "$work" "$source/fixtures/traces/gpu-unknown-kernels.txt" >"$work/unknown.txt" <<'PYTHON'
import csv, glob, os, sys

names = set()
for path in glob.glob(sys.argv[1] + "/kernels-*.csv"):
    with open(path, newline="") as lines:
        names |= {row["Name"] for row in csv.DictReader(lines)
                  if row["Class by Name"] in ("", "other", "(unclassified)")}
if names:
    known = set(open(sys.argv[2]).read().split("\n")) if os.path.exists(sys.argv[2]) else set()
    with open(sys.argv[2], "w") as out:
        out.write("\n".join(sorted((names | known) - {""})) + "\n")
print(len(names))
PYTHON
found=$(cat "$work/unknown.txt")

{
	echo
	echo "## $(date -r "$work/table.txt" +%Y-%m-%d): a sitting with a GPU ($(basename "$archive"))"
	echo
	echo "| verdict | what | figure | goal |"
	echo "|---|---|---|---|"
	python3 "$(dirname "$0")/table.py" --markdown "$work/lines.json"
} >>"$source/docs/dev/measurements.md"
echo "$taken traces, $(wc -l <"$work/table.txt") figures, $found kernels of unknown class"
