# A grid recorded on the CPU backend as one table, held against a second program;
# an A/A test and a diff of its recordings; 200 traces in bounded time and memory.
set -eu
. "$(dirname "$0")/common.sh"

cd "$work"
"$ws" record --model mlp,lenet5 --batch 2,4,8 --dtype fp32,amp-bf16 --repeat 2 --phase step \
	--warmup 1 --steps 3 --device cpu -o runs 2>log || { cat log; fail "the grid failed"; }
# a run that left nothing but its state
printf 'result=exit status 5: out of memory\nmodel=vgg11\nbatch=64\ndtype=fp32\n' \
	>runs/vgg11-batch64-fp32-r1.status

"$ws" sweep runs --run-noise 20 --table sweep --format csv >sweep.csv
# two recordings of the CPU reference: a speed-up, but no interval that could be believed
"$ws" sweep runs --table sweep --format csv >unknown.csv
[ -n "$(csv_cell unknown.csv Speedup Model=mlp Batch=4 Dtype=amp-bf16)" ] || fail "no speed-up"
[ -z "$(csv_cell unknown.csv 'Speedup Low' Model=mlp Batch=4 Dtype=amp-bf16)" ] ||
	fail "an interval out of two recordings of the CPU reference"
"$ws" sweep runs --table sweep-pivot --format csv >pivot.csv
"$ws" sweep runs --table sweep-pivot --rows model --columns dtype --value 'Total (ns)' \
	--format csv >total.csv
mkdir csv
for t in runs/*.wtrace; do
	"$ws" report "$t" --table steps --format csv >"csv/$(basename "$t" .wtrace).csv"
done
python3 - <<'PY'
import csv, glob, math, os, statistics, sys

def rows(path):
    with open(path, newline="", encoding="utf-8") as f:
        return list(csv.DictReader(f))

def same(what, got, want):
    if not math.isclose(float(got), want, rel_tol=1e-9, abs_tol=1e-6):
        sys.exit(f"{what} is {got}, not {want}")

HEADER = ("Model,Context,Batch,Dtype,Phase,Recordings,Steps,Forward (ns),Forward StdDev (ns),"
          "Backward (ns),Backward StdDev (ns),Optimizer (ns),Optimizer StdDev (ns),Total (ns),"
          "Total StdDev (ns),Tokens/s,Images/s,TFLOP/s,MFU (%),Peak Memory (bytes),"
          "Softmax Share (%),Speedup,Speedup Low,Speedup High,Status")
head = open("sweep.csv").readline().rstrip("\r\n")
if not head.startswith(HEADER):
    sys.exit(f"another header: {head}")

steps = {}  # (model, batch, dtype) -> rows of its measured steps
for path in glob.glob("csv/*.csv"):
    model, batch, rest = os.path.basename(path)[:-4].split("-", 2)
    steps.setdefault((model, batch[5:], rest.rsplit("-", 1)[0]), []).extend(
        r for r in rows(path) if r["Warm-up"] == "no")

sweep = rows("sweep.csv")
if len(sweep) != 13:
    sys.exit(f"{len(sweep)} rows, not twelve points and one that failed")
for r in sweep[:-1]:
    mine = steps[r["Model"], r["Batch"], r["Dtype"]]
    if (r["Recordings"], r["Steps"], r["Status"]) != ("2", "6", "ok"):
        sys.exit(f"wrong counts: {r}")
    for phase in ("Forward", "Backward", "Optimizer"):
        values = [int(m[f"{phase} (ns)"]) for m in mine]
        same(phase, r[f"{phase} (ns)"], statistics.mean(values))
        same(phase + " StdDev", r[f"{phase} StdDev (ns)"], statistics.stdev(values))
    # a step on the CPU has no device work behind its end
    same("Images/s", r["Images/s"], int(r["Batch"]) * 1e9 / float(r["Total (ns)"]))
    if not float(r["Speedup Low"]) <= float(r["Speedup"]) <= float(r["Speedup High"]):
        sys.exit(f"the interval leaves its value out: {r}")
    if r["Dtype"] == "fp32" and float(r["Speedup"]) != 1:
        sys.exit(f"the baseline against itself: {r}")
failed = sweep[-1]
if failed["Model"] != "vgg11" or "out of memory" not in failed["Status"] or failed["Total (ns)"]:
    sys.exit(f"the failed run: {failed}")

for r in rows("pivot.csv"):
    if r["model"] == "vgg11":
        continue
    for batch in ("2", "4", "8"):
        mine = steps[r["model"], batch, r["Configuration"].removeprefix("dtype ")]
        for phase in ("Forward", "Backward"):
            values = [int(m[f"{phase} (ns)"]) for m in mine]
            same("pivot", r[f"batch {batch} {phase} (ns)"], statistics.mean(values))
            same("pivot", r[f"batch {batch} {phase} StdDev (ns)"], statistics.stdev(values))
total = {(r["model"], r["Configuration"]): r for r in rows("total.csv")}
for r in sweep[:-1]:
    same("total", total[r["Model"], "batch " + r["Batch"]][f"dtype {r['Dtype']} Total (ns)"],
         float(r["Total (ns)"]))

PY

# the recordings of one point are the same program: whatever the machine, few false alarms
"$ws" aa runs/mlp-batch4-fp32-r*.wtrace --format csv -o aa.csv
[ "$(csv_cell aa.csv Pairs Quantity=step)" = 1 ] || fail "an A/A test of two has one pair"
"$ws" diff runs/mlp-batch4-fp32-r*.wtrace -- runs/mlp-batch4-amp-bf16-r*.wtrace \
	--table diff-verdict --format csv -o verdict.csv
share=$(csv_cell verdict.csv A 'Subject=matched work')
python3 -c "import sys; sys.exit(not $share > 99)" || fail "only $share % of fp32 is matched"
share=$(csv_cell verdict.csv B 'Subject=matched work')
python3 -c "import sys; sys.exit(not $share > 99)" || fail "only $share % of amp-bf16 is matched"
"$ws" diff runs/mlp-batch4-fp32-r1.wtrace runs/mlp-batch8-fp32-r1.wtrace --table diff-verdict \
	--format csv -o unlike.csv
equal "the grade of other batches" "$(csv_cell unlike.csv Grade Subject=overall)" UNLIKE

# Markdown is for a comment on a pull request: under 65,536 characters, whatever was recorded
for d in fp32 amp-bf16; do
	"$ws" record --model transformer-small --layers 2 --context 16 --batch 1 --dtype $d --phase step \
		--warmup 0 --steps 2 --device cpu -o $d.wtrace 2>log || { cat log; fail "no transformer"; }
done
"$ws" diff fp32.wtrace amp-bf16.wtrace --format md >comment.md
[ "$(wc -c <comment.md)" -lt 65536 ] || fail "a comment of $(wc -c <comment.md) bytes"
contains comment.md '| time | before → after |'
"$ws" diff fp32.wtrace amp-bf16.wtrace --table diff-verdict --format csv -o verdict.csv
for side in A B; do
	share=$(csv_cell verdict.csv $side 'Subject=matched work')
	python3 -c "import sys; sys.exit(not $share > 99)" || fail "$share % of $side's work is matched"
done

# 200 traces: 128 MB is a limit that holds whatever else runs; time is measured, not tested
mkdir many
i=0
while [ $i -lt 17 ]; do
	for t in runs/*.wtrace; do cp "$t" "many/$i-$(basename "$t")"; done
	i=$((i + 1))
done
python3 - "$ws" <<'PY'
import os, resource, subprocess, sys, time

begin = time.monotonic()
subprocess.run([sys.argv[1], "sweep", "many", "--table", "sweep", "--format", "csv"],
               check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
n = len(os.listdir("many"))
print(f"{n} traces: {time.monotonic() - begin:.2f} s, {used.ru_utime + used.ru_stime:.2f} s of CPU, "
      f"{used.ru_maxrss / 1024:.0f} MB")
if used.ru_maxrss > 128 * 1024:
    sys.exit("over 128 MB")
PY
