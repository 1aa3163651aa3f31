#!/bin/sh
# Programs whose steps repeat themselves, or do not, recorded once in full and once as --pytorch does: what the
# reports have of both. repeats.sh BIN
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

record() { # record PROGRAM HOW
	"$ws" record --pytorch="$2" -o "$1.$2.wtrace" -- "$python" "$here/repeats.py" "$1" >log 2>&1 || { cat log; fail "recording $1"; }
}
for program in alike logged layers always_other growing last_batch evaluation unseen inference threads other_thread; do
	record $program shapes
	"$ws" query $program.shapes.wtrace "SELECT count(*) AS n, sum(ops <> 0) AS recorded FROM op_period_record" --format csv -o $program.periods.csv >/dev/null
	"$ws" report $program.shapes.wtrace --table steps >$program.steps 2>/dev/null
done
for program in alike growing evaluation inference; do
	record $program full
done

"$python" "$here/same_tables.py" "$ws" ops,ranges alike growing evaluation inference >out 2>&1 || fail "$(cat out)"

periods() { # periods PROGRAM: how many were recorded
	csv_cell $1.periods.csv recorded
}
[ "$(periods alike)" -le 6 ] || fail "of 60 equal steps $(periods alike) were recorded"
[ "$(periods inference)" -le 6 ] || fail "of 60 equal calls $(periods inference) were recorded"
[ "$(periods logged)" -le 7 ] || fail "of 121 steps that print now and then $(periods logged) were recorded"
! grep -q "lack" logged.steps || fail "$(cat logged.steps)"
contains alike.steps "of 59 steps are taken from those recorded in full: 0, 1"
equal "of steps that all differ are recorded" "$(periods growing)" "$(csv_cell growing.periods.csv n)"
! grep -q "are taken from" growing.steps || fail "$(cat growing.steps)"
contains evaluation.steps "3 of 59 steps contain an evaluation"

# what differs is recorded from there on, or is no measured step
# (a layer is left out by each tenth step: expected where the two before had it)
contains layers.steps "2 of 59 steps lack operations, as they repeat no recorded step"
table layers.shapes.wtrace ops
equal "backward of the others" "$(csv_cell layers.shapes.wtrace.ops.csv Calls Name=AddmmBackward0)" $((53 * 5 + 4 * 4))
contains last_batch.steps "of 59 steps lack"
[ "$(periods always_other)" -ge 30 ] || fail "of 40 steps that differ $(periods always_other) were recorded"
# between the last step that was recorded before and the first behind no call is given operations
contains unseen.steps "lack operations, as they repeat no recorded step"
for program in unseen threads other_thread; do # what lies between steps, too
	"$ws" report $program.shapes.wtrace --table ops --scope all --format csv -o $program.all.csv >/dev/null 2>&1
done
sines=$(csv_cell unseen.all.csv Calls Name=aten::sin)
[ "$sines" -le 20 ] || fail "$sines of 20 calls"
equal "backward of two threads" "$(csv_cell threads.all.csv Calls Name=AddmmBackward0)" $((2 * 20 * 5))
equal "calls of another thread" "$(csv_cell other_thread.all.csv Calls Name=aten::cos)" 30

# steps that are not recorded have no hooks of modules
record hooks shapes
hidden=$(sed -n 's/^without hooks //p' log)
[ "${hidden:-0}" -ge 30 ] || fail "$(cat log)"

# a child that is forked while its parent records nothing
"$ws" record --pytorch -o 'forked.%p.wtrace' -- "$python" "$here/repeats.py" forked >log 2>&1 || { cat log; fail "recording forked"; }
found=0
for trace in forked.*.wtrace; do
	"$ws" report "$trace" --table ops --scope all --format csv -o forked.csv >/dev/null 2>&1
	[ "$(csv_cell forked.csv Calls Name=AddmmBackward0)" != 25 ] || found=1
done
[ $found = 1 ] || fail "no trace of five steps: $(ls forked.*.wtrace)"

# a thread that ends in a step that --calibrate leaves out: ranges that come after are recorded
ended() { # ended STEPS
	"$ws" record --pytorch --calibrate -o ended.wtrace --force -- "$python" "$here/repeats.py" ended "$1" >log 2>&1 || { cat log; fail "recording ended"; }
}
ask() { "$ws" query ended.wtrace --scope all --format csv "$1" | tr -d '\r' | tail -n 1; }
if "$python" -c 'import nvtx' 2>/dev/null; then
	ended 60
	place=$(ask "SELECT min(n) FROM (SELECT calibration, row_number() OVER (ORDER BY start_ns) AS n FROM op_period_record) WHERE calibration = 'unrecorded'")
	ended $((place - 1))
	equal "the last period" "$(ask "SELECT calibration FROM op_period_record ORDER BY start_ns DESC LIMIT 1")" unrecorded
	equal "ranges after it" "$(ask "SELECT count(*) FROM nvtx_record WHERE type = 'push' AND name = 'after'")" 50
	ops=$(ask "SELECT count(*) FROM cpu_op_record WHERE start_ns > (SELECT min(time_ns) FROM nvtx_record WHERE type = 'push' AND name = 'after')")
	[ "$ops" -ge 50 ] || fail "$ops operations in 50 ranges after it"
else
	echo "SKIP: no package nvtx: a thread that ends in a step that is not recorded was not tried"
fi
