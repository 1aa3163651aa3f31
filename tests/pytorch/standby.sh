#!/bin/sh
# PyTorch switched on and off from outside (--standby), and two processes of one model (gloo) that record the same steps
# (--job). standby.sh BIN.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

# a step for each byte of its input; the ranks wait for each other in each
cat >train.py <<'PY'
import os
import sys

import torch
import torch.distributed as dist

ranks = int(os.environ.get("WORLD_SIZE", "1"))
if ranks > 1:
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=int(os.environ["RANK"]), world_size=ranks)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while sys.stdin.buffer.read(1):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    for p in model.parameters():
        if ranks > 1:
            dist.all_reduce(p.grad)
    optimizer.step()
if ranks > 1:
    dist.destroy_process_group()
PY

has_steps() { # has_steps TRACE NUMBER: as many calls of the model and of its layers, and nothing else
	equal "linear layers in $1" "$("$ws" query "$1" --scope all --format csv "SELECT count(*) FROM cpu_op_record o JOIN op_config_record c ON c.id = o.config WHERE c.name = 'aten::addmm'" | tr -d '\r' | tail -n 1)" $(($2 * 2))
	equal "losses of $1" "$("$ws" info "$1" | sed '1,/^  losses$/d' | awk '$2 > 0' | wc -l)" 0
}

step_is() { # step_is COLUMN-5-OF-ALL ARGUMENT...: waits for the numbers of steps
	want=$1
	shift
	until [ "$("$ws" ctl status --format csv "$@" 2>/dev/null | tr -d '\r' | sed 1d | cut -d, -f5 | tr '\n' ' ')" = "$want " ]; do
		kill -0 $! 2>/dev/null || fail "the recorder has ended: $(cat log*)"
		sleep 0.05
	done
}

mkfifo in
"$ws" record --pytorch=full --standby -o t.wtrace -- "$python" train.py <in >log 2>&1 &
recorder=$!
exec 3>in
printf xxxxx >&3
step_is 5
"$ws" ctl start --steps 3
printf xxxxx >&3
step_is 10
exec 3>&-
wait $recorder || fail "recording: $(cat log)"
has_steps t.wtrace 3

if ! "$python" -c 'import torch.distributed as d; exit(not d.is_available())' 2>/dev/null; then
	echo "note: no torch.distributed in $python; two ranks were not tried"
	exit 0
fi
for rank in 0 1; do
	mkfifo in$rank
	RANK=$rank WORLD_SIZE=2 "$ws" record --pytorch=full --standby --job job -o r.wtrace -- "$python" train.py <in$rank >log$rank 2>&1 &
	eval "recorder$rank=$!"
done
exec 3>in0 4>in1
printf xxxx >&3
printf xxxx >&4
step_is '4 4' --job job
"$ws" ctl start --steps 3 --job job | tee said
first=$(sed 's/.*step //' said)
steps=$((first + 6 - 4))
printf "%${steps}s" '' >&3
printf "%${steps}s" '' >&4
step_is "$((first + 6)) $((first + 6))" --job job
exec 3>&- 4>&-
wait $recorder0 || fail "rank 0: $(cat log0)"
wait $recorder1 || fail "rank 1: $(cat log1)"
for rank in 0 1; do
	has_steps r.rank$rank.wtrace 3
done
