#!/bin/sh
# What --pytorch adds to a recording, and that it is not there without: recording.sh BIN.
# The Python with PyTorch: $WARPSHEET_TEST_TORCH, python3.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

cat >train.py <<'PY'
import os
import sys

import torch
from torch import nn

model = nn.Sequential(nn.Linear(8, 16), nn.Sequential(nn.ReLU(), nn.Linear(16, 2)))
optimizers = [torch.optim.SGD(model[0].parameters(), lr=0.1), torch.optim.Adam(model[1].parameters())]


def step():
    model.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    for optimizer in optimizers:
        optimizer.step()


for i in range(4):
    if "own" in sys.argv:
        with torch.autograd.profiler.record_function(f"ProfilerStep#{i}"):
            step()
    elif "nvtx" in sys.argv:  # which registers the name
        import nvtx
        with nvtx.annotate("step"):
            step()
    else:
        step()
print("preloaded" if "warpsheet" in os.environ.get("LD_PRELOAD", "") else "as it was")
if not os.fork():  # a child of a fork goes on without being recorded
    step()
    os._exit(0)
os.wait()
PY
mkdir user
echo 'print("the user'"'"'s sitecustomize")' >user/sitecustomize.py

# all of it, and the program's own start-up file runs as well
PYTHONPATH=$work/user "$ws" record --pytorch -o all.wtrace -- "$python" train.py >all.out 2>all.log ||
	{ cat all.out all.log; fail "the recording"; }
contains all.out "the user's sitecustomize"
contains all.out preloaded
"$ws" check all.wtrace >check.out || fail "the trace is damaged: $(cat check.out)"
table all.wtrace ops
# 4 rows of 8 by 16 numbers, with the bias: 2*4*8*16 + 4*16; 2*4*16*2 + 4*2; in the three measured steps
equal "FLOPs of addmm" "$(csv_cell all.wtrace.ops.csv FLOPs Name=aten::addmm)" $((3 * (1088 + 264)))
table all.wtrace ranges
cat >look.py <<'PY'
import csv
import sys

rows = list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8")))
names = [next(iter(r.values())) for r in rows]
for want in sys.argv[2:]:
    if not any(want in " ".join(str(v) for v in r.values()) for r in rows):
        sys.exit(f"no {want} in {names}")
PY
python3 look.py all.wtrace.ranges.csv "0 (Linear)" "1 (Sequential)" "Optimizer.step#SGD.step" pytorch.module
# measured steps, and no other: a line each behind the head of the table
finished() {
	table "$1" steps
	grep -c '^[0-9]*,no,' "$1.steps.csv"
}
equal "steps, which optimizers end" "$(finished all.wtrace)" 3
"$ws" info all.wtrace >info.out
grep -Eq 'pytorch.operations +shapes' info.out || fail "the provenance says what was recorded"

# steps of the program's own
"$ws" record --pytorch -o own.wtrace -- "$python" train.py own >own.log 2>&1 || { cat own.log; fail "own steps"; }
equal "steps of the program's own" "$(finished own.wtrace)" 4
if "$python" -c 'import nvtx' 2>/dev/null; then
	"$ws" record --pytorch -o nvtx.wtrace -- "$python" train.py nvtx >nvtx.log 2>&1 || { cat nvtx.log; fail "steps by nvtx"; }
	equal "steps of the program's own, by the package nvtx" "$(finished nvtx.wtrace)" 4
else
	echo "SKIP: no package nvtx: its names of steps were not tried"
fi

# one that becomes another program is one recording
cat >again.py <<'PY'
import os
import sys

import torch

torch.ones(2, 3) @ torch.ones(3, 4)
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, *sys.argv, "again"])
PY
"$ws" record --pytorch -o again.wtrace -- "$python" again.py >again.log 2>&1 || { cat again.log; fail "exec"; }
table again.wtrace ops
equal "FLOPs before and after exec" "$(csv_cell again.wtrace.ops.csv FLOPs Name=aten::mm)" $((2 * 2 * 2 * 3 * 4))

# names alone
"$ws" record --pytorch=names -o names.wtrace -- "$python" train.py >names.log 2>&1 || { cat names.log; fail "names"; }
table names.wtrace ops
equal "FLOPs by name" "$(csv_cell names.wtrace.ops.csv FLOPs Name=aten::addmm)" ""
grep -q pytorch_without_shapes names.log && fail "names were asked for: nothing is lost"

# values that differ in each call: shapes stay when the room for them is used up
cat >values.py <<'PY'
import torch

x = torch.zeros(64, 64)
with torch.no_grad():
    for i in range(40000):
        x.add_(x, alpha=i / 7e9)
    x.mm(x)
    q = torch.zeros(1, 2, 8, 16)
    torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
image, filters = torch.zeros(1, 4, 6, 6, requires_grad=True), torch.zeros(4, 2, 3, 3, requires_grad=True)
torch.nn.functional.conv_transpose2d(image, filters).sum().backward()
PY
"$ws" record --pytorch -o values.wtrace -- "$python" values.py >values.log 2>&1 || { cat values.log; fail "values"; }
table values.wtrace ops
equal "FLOPs, after 40,000 different values" "$(csv_cell values.wtrace.ops.csv FLOPs Name=aten::mm)" $((2 * 64 * 64 * 64))
# 2 heads, 8 * 9 / 2 pairs
equal "FLOPs of causal attention then" "$(csv_cell values.wtrace.ops.csv FLOPs Name=aten::scaled_dot_product_attention)" $((2 * 36 * 2 * (16 + 16)))
equal "FLOPs of a transposed convolution then" "$(csv_cell values.wtrace.ops.csv FLOPs Name=aten::convolution_backward)" ""
grep -q pytorch_without_numbers values.log || fail "no count of values that are left out: $(cat values.log)"
! grep -q pytorch_without_shapes values.log || fail "shapes were lost: $(cat values.log)"

# shapes that differ in each call use up the room as well: there is still some for names, and no numbers are lost
cat >shapes.py <<'PY'
import torch

for i in range(17000):
    torch.empty(1, 1, 1, 1, 1, 1, 1, i).abs_()
PY
"$ws" record --pytorch -o shapes.wtrace -- "$python" shapes.py >shapes.log 2>&1 || { cat shapes.log; fail "shapes"; }
grep -q pytorch_without_shapes shapes.log || fail "no count of shapes that are left out: $(cat shapes.log)"
! grep -q definition_overflow shapes.log || fail "operations without a name: $(cat shapes.log)"
! grep -q pytorch_without_numbers shapes.log || fail "there are no numbers: $(cat shapes.log)"

# modules that are made where they are called: the model is not looked through for each of them
cat >made.py <<'PY'
import torch
from torch import nn

looks, named_modules = 0, nn.Module.named_modules


def counted(*args, **options):  # once for each module that is looked at
    global looks
    looks += 1
    return named_modules(*args, **options)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return nn.Softmax(dim=-1)(self.inner(x))


model = nn.Sequential(*(Block() for _ in range(50)))
model(torch.ones(2, 8))
nn.Module.named_modules = counted
model(torch.ones(2, 8))
assert looks < 200, looks


class Parts(nn.Module):
    def forward(self, x):
        for _ in range(4):  # each may lie where a part of the one before did
            x = nn.Sequential(nn.Linear(8, 8), nn.ReLU())(x)
        return x


model = nn.Sequential(*(Parts() for _ in range(50)))
model(torch.ones(2, 8))
looks = 0
model(torch.ones(2, 8))
assert looks < 4000, looks  # 400 parts, each found in its Sequential
PY
"$ws" record --pytorch -o made.wtrace -- "$python" made.py >made.log 2>&1 || { cat made.log; fail "modules that are made"; }
table made.wtrace ranges
contains made.wtrace.ranges.csv "49 (Block)/inner (Linear)"
contains made.wtrace.ranges.csv "49 (Block)/Softmax"
contains made.wtrace.ranges.csv "49 (Parts)/Sequential/0 (Linear)"
! grep -q "Sequential/Linear" made.wtrace.ranges.csv || fail "names of parts of a module that is made: $(cat made.wtrace.ranges.csv)"

# nothing of it
WARPSHEET_PYTORCH=off "$ws" record --pytorch -o off.wtrace -- "$python" train.py >off.log 2>&1 || true
contains off.log "as it was"
"$ws" record -o none.wtrace -- "$python" train.py >none.log 2>&1 || true
contains none.log "as it was"
for trace in off none; do
	[ ! -e $trace.wtrace ] || ! "$ws" query $trace.wtrace "SELECT text FROM string_record" | grep -q 'aten::' || fail "operations in $trace"
done
