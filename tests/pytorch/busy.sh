#!/bin/sh
# Steps that repeat others while the machine is busy: recorded 20 times, no call may be lost. busy.sh BIN
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

for _ in 1 2 3 4; do
	"$python" -c 'while True: pass' & # ends with the test
done
"$ws" record --pytorch=full -o full.wtrace -- "$python" "$here/repeats.py" alike >log 2>&1 || { cat log; fail "recording in full"; }
"$ws" report full.wtrace --table ops --columns name,calls,flops --format csv -o full.csv >>log 2>&1
sort full.csv >wanted
for i in $(seq 20); do
	"$ws" record --pytorch=shapes -o run.wtrace -- "$python" "$here/repeats.py" alike >log 2>&1 || { cat log; fail "recording $i"; }
	"$ws" report run.wtrace --table ops --columns name,calls,flops --format csv -o run.csv >>log 2>&1
	"$ws" report run.wtrace --table steps >steps 2>/dev/null
	contains steps "steps are taken from those recorded in full"
	sort run.csv | cmp -s wanted - || fail "run $i: $(sort run.csv | diff wanted - | head)"
done
