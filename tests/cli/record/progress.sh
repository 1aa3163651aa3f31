# steps are told on a terminal, and only there
run='warpsheet record --model mlp --batch 1 --warmup 1 --steps 1 --device cpu --force -o a.wtrace'
script -qec "$run" /dev/null | tr '\r' '\n' | grep -o 'warpsheet-step: step . of .*[a-z0-9)]' | sed 's/\x1b.*//'
$run 2>&1 | grep -c 'step 1 of'
# a program that takes its time: on a terminal it is told that the recording goes on. It waits for
# that, a minute at most
wait='i=0; until grep -q "so far" seen || [ $((i += 1)) -gt 600 ]; do sleep 0.1; done'
script -qefc "warpsheet record -o a.wtrace -- sh -c '$wait'" seen >/dev/null 2>&1
grep -o 'recording for [0-9]* s: 0 records so far' seen | sed 's/[0-9]* s:/N s:/'
warpsheet record -o b.wtrace -- sleep 3.2 2>&1 | grep -c 'so far'
