#!/bin/sh
# A recorded forward pass of transformer-small has exactly the FLOPs of its
# definition: 2 (4T) N_mm + 4 B L T^2 d = 126,244,356,096 at T = 128, B = 4.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
cd "$work"

"$ws" record --model transformer-small --context 128 --batch 4 --phase forward \
	--warmup 1 --steps 2 -o s.wtrace 2>record.txt
"$ws" check s.wtrace >check.txt || fail "check: $(cat check.txt)"
"$ws" report s.wtrace --table softmax-matmul --format csv >sm.csv

head -n 1 sm.csv | grep -q '^Scope,Phase,Part,Kernels,GPU Time (ns),FLOPs,Bytes,FLOP/byte,TFLOP/s,GB/s,Bound' ||
	fail "header: $(head -n 1 sm.csv)"
"$ws" report s.wtrace --table roofline --format csv >roofline.csv
equal "matmul FLOPs of two forwards" "$(csv_cell roofline.csv FLOPs Level=class Name=gemm)" $((2 * 126244356096))
qk=$(csv_cell sm.csv FLOPs Scope='all layers' Phase=forward 'Part=computing attention scores')
softmax=$(csv_cell sm.csv FLOPs Scope='all layers' Phase=forward 'Part=computing softmax')
equal "FLOP ratio of QK^T to softmax" "$(awk -v a="$qk" -v b="$softmax" 'BEGIN { printf "%.6f", a / b }')" 25.600000

# the other tables of the same trace agree with each other
for table in summary kernel-summary ranges range-kernels steps losses method; do
	"$ws" report s.wtrace --table $table --format csv >$table.csv
	[ "$(wc -l <$table.csv)" -gt 1 ] || fail "table $table is empty"
done
equal "measured and warm-up steps" "$(($(wc -l <steps.csv) - 1))" 3
python3 - <<'PY'
import csv


def total(path, column):
    with open(path, newline="", encoding="utf-8") as f:
        return sum(int(r[column]) for r in csv.DictReader(f) if r[column])


kernels = total("kernel-summary.csv", "Total Time (ns)")
ranges = total("ranges.csv", "GPU Time Exclusive (ns)")
assert kernels == ranges > 0, f"kernel-summary has {kernels} ns, ranges exclusively {ranges} ns"
PY
