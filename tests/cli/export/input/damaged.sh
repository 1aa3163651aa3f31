# what is whole of a damaged trace is exported, and the damage is told
warpsheet export fixtures/broken/truncated.wtrace -o t.json && grep -o '"cat": *"kernel"' t.json | wc -l
warpsheet export fixtures/broken/no-trace.wtrace -o n.json; echo $?
ls
