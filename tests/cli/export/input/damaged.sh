# what is whole of a damaged trace is exported, and the damage is told
warpsheet export fixtures/broken/truncated.wtrace -o t.csv && head -n 1 t.csv/kernel.csv | tr -d '\r'
warpsheet export fixtures/broken/no-trace.wtrace -o n.csv; echo $?
ls
