# Real traces of others matched as docs/compare.md demands, where ../shared/data has them.
set -eu
. "$(dirname "$0")/common.sh"
data=$(cd "$(dirname "$0")/../.." && pwd)/../shared/data

[ -d "$data/kineto" ] && [ -d "$data/nsys" ] || {
	echo "skipped: no ../shared/data"
	exit 77
}
cd "$work"
# matched A B LEAST: the share of both sides' GPU time that faces the same work, in percent
matched() {
	"$ws" diff "$1" "$2" --table diff-verdict --format csv -o verdict.csv 2>log || {
		cat log
		fail "no diff of $1 and $2"
	}
	for side in A B; do
		share=$(csv_cell verdict.csv $side 'Subject=matched work')
		echo "$(basename "$1") $side: $share %"
		python3 -c "import sys; sys.exit(not $share >= $3)" || fail "$share % of $side of $1 is matched"
	done
}

# one model on two GPUs of two vendors
matched "$data/kineto/timesformer_h100.json.gz" "$data/kineto/timesformer_mi300.json.gz" 95
# names that hold op_id and sizes; 1,810 of its kernels have no launch record
matched "$data/nsys/h100_2gpu_1s_emit_nvtx.sqlite" "$data/nsys/h100_2gpu_1s_emit_nvtx.sqlite" 100
equal "a trace and itself" "$(csv_cell verdict.csv Grade Subject=overall)" SAME
