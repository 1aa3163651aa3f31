#!/bin/sh
# A flight recorder (--when) finds PyTorch's slow step: it ends with the optimizer's. when.sh BIN.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

# the program takes long after its last step, too, which is no step
cat >train.py <<'PY'
import time

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    time.sleep(3 if step == 15 else 0.02)
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
time.sleep(4)
PY

# two threads train: the steps of the one that was the first are judged
cat >both.py <<'PY'
import threading
import time

import torch


def train(n, slow, ready=lambda: None):
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(n):
        time.sleep(3 if step == slow else 0.02)
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        ready()


other = threading.Thread(target=train, args=(100, None))
train(30, 15, lambda: None if other.ident else other.start())
other.join()
PY
"$ws" record --pytorch --keep 20 --flush-interval 100 --when 'step > 20x median' -o t.wtrace -- "$python" both.py >log 2>&1 || fail "$(cat log)"
ls t*.wtrace >list
equal "traces (two threads)" "$(tr '\n' ' ' <list)" "t.1.wtrace t.wtrace "
equal "the slow step (two threads)" "$("$ws" info t.1.wtrace | sed -n 's/^  flight\.step  *//p')" 15
rm t*.wtrace

for how in sampled full; do
	option=--pytorch
	[ $how = sampled ] || option=--pytorch=$how
	"$ws" record $option --keep 20 --flush-interval 100 --when 'step > 20x median' -o t.wtrace -- "$python" train.py >log 2>&1 || fail "$(cat log)"
	ls t*.wtrace >list
	equal "traces ($how)" "$(tr '\n' ' ' <list)" "t.1.wtrace t.wtrace "
	# the first one is 0
	equal "the slow step ($how)" "$("$ws" info t.1.wtrace | sed -n 's/^  flight\.step  *//p')" 15
	equal "trigger at the end ($how)" "$("$ws" info t.wtrace | sed -n 's/^  flight\.trigger  *//p')" ""
	"$ws" report t.1.wtrace --table slow-step >page
	grep -q '^Step .* takes 3.* s, the median step ' page || fail "$(cat page)"
	rm t*.wtrace
done
