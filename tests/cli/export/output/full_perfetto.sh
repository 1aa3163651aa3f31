ln -s /dev/full t.pftrace
warpsheet export fixtures/traces/step-bf16.wtrace -o t.pftrace
