# Real traces of others matched as docs/reference/compare.md demands, where ../shared/data has them.
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

# graded SUBJECT GRADE WORDS: what the last diff says of it
graded() {
	equal "the grade of $1" "$(csv_cell verdict.csv Grade "Subject=$1")" "$2"
	csv_cell verdict.csv Verdict "Subject=$1" | grep -qF -- "$3" || fail "$1: $(csv_cell verdict.csv Verdict "Subject=$1")"
}
# adds_up A B: the parts of the waterfall add up to the step, the uses of each device to their share
adds_up() {
	"$ws" diff "$1" "$2" --force --format json -o all.json 2>log || fail "no diff of $1 and $2: $(cat log)"
	python3 - "$(basename "$1"), $(basename "$2")" <<'EOF'
import json, sys
tables = json.load(open("all.json"))["tables"]
t = tables["diff-waterfall"]
at = {c["id"]: i for i, c in enumerate(t["columns"])}
if t["rows"]:
    for column in ("a_ns", "b_ns", "diff_ns"):
        parts = sum(r[at[column]] for r in t["rows"] if r[at["group"]] != "total")
        total = [r[at[column]] for r in t["rows"] if r[at["group"]] == "total"]
        if abs(parts - total[0]) > 1:
            sys.exit(f"{sys.argv[1]}: {column} of the parts is {parts}, of the step {total[0]}")
t = tables["diff-idle"]
at = {c["id"]: i for i, c in enumerate(t["columns"])}
for side in ("share_a", "share_b"):
    for device in {r[at["device"]] for r in t["rows"]}:
        shares = [r[at[side]] or 0 for r in t["rows"] if r[at["device"]] == device]
        if sum(shares) and abs(sum(shares) - 100) > 1e-6:
            sys.exit(f"{sys.argv[1]}: {side} of device {device} is {sum(shares)} %")
print(f"{sys.argv[1]}: {len(tables['diff-waterfall']['rows'])} parts add up")
EOF
}
diff_of() {
	"$ws" diff "$1" "$2" --table diff-verdict --format csv -o verdict.csv 2>log || fail "no diff of $1 and $2: $(cat log)"
}

# one lesson, two ways: elapsed 1,428 and 553 ms, kernels 1,064 and 210
diff_of "$data/nsys/openmp_t4_step4.sqlite" "$data/nsys/openmp_t4_step5.sqlite"
graded overall 'LIKELY FASTER' 'Elapsed time: openmp_t4_step5 is likely 2.58× faster'
graded 'GPU time of kernels' 'LIKELY FASTER' 'likely 5.07× faster'
# two sizes of one model
diff_of "$data/kineto/switch_a.json.gz" "$data/kineto/switch_c.json.gz"
graded overall UNLIKE 'different work'
graded 'not the same work' UNLIKE '953 and 476 GFLOP'
# two GPUs: less GPU time, and a step that waits for its host
diff_of "$data/kineto/timesformer_h100.json.gz" "$data/kineto/timesformer_mi300.json.gz"
graded overall AMBIGUOUS 'No significant difference'
graded 'GPU time of a step' 'LIKELY FASTER' 'likely 1.3× faster'
# launches, and no kernel
diff_of "$data/kineto/zoology.json.gz" "$data/kineto/zoology.json.gz"
graded overall '' 'Nothing to compare'
# two models
diff_of "$data/kineto/gaunernst_bert-small"*.json.gz "$data/kineto/timesformer_h100.json.gz"
graded overall UNLIKE 'different work'

for pair in 'nsys/openmp_t4_step4.sqlite nsys/openmp_t4_step5.sqlite' 'kineto/switch_a.json.gz kineto/switch_c.json.gz' \
	'kineto/timesformer_h100.json.gz kineto/timesformer_mi300.json.gz' 'kineto/vit_sampled0.json.gz kineto/vit_sampled1.json.gz' \
	'kineto/zoology.json.gz kineto/timesformer_h100.json.gz'; do
	# shellcheck disable=SC2086 # two words
	set -- $pair
	adds_up "$data/$1" "$data/$2"
done
