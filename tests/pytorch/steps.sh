#!/bin/sh
# Steps and phases of programs as people write them, against what each counts itself: steps.sh BIN.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"
export COLUMNS=400 # sentences are not broken

share() { # share TRACE PHASE: percent of the median step on the host
	"$ws" report "$1" --table step-statistics --format csv -o "$1.phases.csv" >/dev/null
	python3 - "$1.phases.csv" "$2" <<'PY'
import csv
import sys

median = {(r["Phase"], r["Measure"]): float(r["Med (ns)"])
        for r in csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8"))}
print(int(100 * median.get((sys.argv[2], "host"), 0) / median["total", "wall"]))
PY
}

for program in closure lbfgs evaluation gan critics samples critics_sample two_threads accumulation distillation rollouts by_hand inference generation; do
	"$ws" record --pytorch -o $program.wtrace -- "$python" "$here/steps.py" $program >$program.log 2>&1 ||
		{ cat $program.log; fail "recording $program"; }
	equal "$program" "$(found_steps $program.wtrace)" "$(grep '^steps' $program.log)"
done

# forward and backward of a closure are no optimizer's, recorded or imported: of 80 million multiplications a step it
# does one in a hundred
"$python" "$here/steps.py" closure closure.json >/dev/null 2>&1 || fail "PyTorch's profile"
for trace in closure.wtrace closure.json; do
	both=$(($(share $trace forward) + $(share $trace backward)))
	[ $both -gt "$(share $trace optimizer)" ] || fail "phases of $trace: $(cat $trace.phases.csv)"
done

# what is told of them
"$ws" report evaluation.wtrace >page.out 2>/dev/null
contains page.out "2 of 13 steps contain an evaluation"
"$ws" report evaluation.wtrace --table step-statistics --format csv -o phases.csv >/dev/null
equal "evaluations are a phase" "$(csv_cell phases.csv Steps Phase=evaluation)" 2
table evaluation.wtrace ops
equal "products of training alone" "$(csv_cell evaluation.wtrace.ops.csv Calls Name=aten::addmm)" $((11 * 2))
"$ws" report generation.wtrace >page.out 2>/dev/null
contains page.out "3 of 30 steps are prefills"
"$ws" report inference.wtrace --step auto >page.out 2>/dev/null || fail "--step auto of modules"
contains page.out "20 measured steps"

# the second optimizer of a class, and the second root module of one, have names of their own
table gan.wtrace ranges
contains gan.wtrace.ranges.csv "Adam 2"
contains gan.wtrace.ranges.csv "Linear 2"

# a step on each of two threads has its own forward, backward and optimizer
"$ws" report two_threads.wtrace --table step-statistics --format csv -o phases.csv >/dev/null
for phase in forward backward optimizer; do
	equal "$phase on two threads" "$(csv_cell phases.csv Steps Phase=$phase)" 48
done
"$ws" report two_threads.wtrace >page.out 2>/dev/null
contains page.out "Steps of 2 threads overlap: "

# images that a generator draws are recorded from the second time on, and are a phase of their own
"$ws" query samples.wtrace "SELECT count(*) AS n FROM op_period_record WHERE part = 'begin'" --scope all --format csv -o begins.csv >/dev/null
[ "$(csv_cell begins.csv n)" -le 2 ] || fail "$(cat begins.csv) times images were not expected"
for program in samples critics_sample; do
	"$ws" report $program.wtrace --table step-statistics --format csv -o phases.csv >/dev/null
	equal "$program: images" "$(csv_cell phases.csv Steps Phase=evaluation)" "$(sed -n 's/.*apart //p' $program.log)"
done

# what starts ranks is none
cat >rank.py <<'PY'
import torch

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for i in range(4):
    optimizer.zero_grad()
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
PY
cat >start.py <<'PY'
import os
import subprocess
import sys

import torch

for rank in "01":
    subprocess.run([sys.executable, "rank.py"], env={**os.environ, "RANK": rank, "WORLD_SIZE": "2"}, check=True)
PY
"$ws" record --pytorch -o 'rank%q{RANK}.wtrace' -- "$python" start.py >ranks.log 2>&1 || { cat ranks.log; fail "ranks"; }
[ -e rankunset.wtrace ] || fail "the program that starts ranks is recorded, too"
"$ws" report rank0.wtrace rank1.wtrace rankunset.wtrace >ranks.out 2>&1 || { cat ranks.out; fail "the report of ranks"; }
contains ranks.out "2 ranks (complete)"
contains ranks.out "rankunset.wtrace: it says no rank"
