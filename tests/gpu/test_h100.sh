#!/bin/sh
# The recordings of an H100 in fixtures/recorded/h100: test_h100.sh BIN FIXTURES
# PyTorch's kernels, each name as often as its own profiler counted it in a run of its own; the
# kernels of our steps; and nothing is lost.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
warpsheet=$1/warpsheet
recorded=$2/recorded/h100
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "test_h100.sh: $*" >&2
	exit 1
}

"$warpsheet" report "$recorded/torch.wtrace" --table kernel-summary --scope all --format csv >"$work/torch.csv"
first=$(python3 "$here/names.py" "$recorded/torch-kernels.txt" "$work/torch.csv")
[ -z "$first" ] || fail "not as PyTorch's profiler counted: $first"
counted=$(awk '{ n += $1 } END { print n }' "$recorded/torch-kernels.txt")
kernels=$("$warpsheet" report "$recorded/torch.wtrace" --table summary --scope all --format csv |
	sed -n 's/^Where the time goes,kernels,,\([0-9]*\),.*/\1/p')
# the profiler began after the input had been drawn
[ "$kernels" = $((counted + 1)) ] || fail "$kernels kernels, and PyTorch's profiler counted $counted and one before it"

for step in transformer-small:568 resnet50:960; do
	trace=$recorded/${step%%:*}.wtrace
	"$warpsheet" report "$trace" | tr "\n" " " >"$work/page.txt"
	grep -q "NVIDIA H100 80GB HBM3 · ${step%%:*} amp-bf16 · 3 measured steps · nothing lost" "$work/page.txt" ||
		fail "$step: $(cut -c 1-200 "$work/page.txt")"
	grep -q "${step##*:} kernels per step" "$work/page.txt" || fail "$step: $(cut -c 1-900 "$work/page.txt")"
done
echo "$counted kernels as PyTorch's profiler counted them"
