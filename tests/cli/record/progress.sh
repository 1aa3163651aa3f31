# steps are told on a terminal, and only there
run='warpsheet record --model mlp --batch 1 --warmup 1 --steps 1 --device cpu --force -o a.wtrace'
script -qec "$run" /dev/null | tr '\r' '\n' | grep -o 'warpsheet-step: step . of .*[a-z0-9)]' | sed 's/\x1b.*//'
$run 2>&1 | grep -c 'step 1 of'
