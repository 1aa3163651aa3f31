warpsheet export fixtures/traces/step-bf16.wtrace -o a --format parquet && warpsheet export fixtures/traces/step-bf16.wtrace -o b.parquet && diff -r a b.parquet && echo same && ls a
warpsheet export fixtures/traces/step-bf16.wtrace -o fleet --format parquet --rollup --rank 7 && find fleet | sort
warpsheet export fixtures/traces/step-bf16.wtrace -o t.json --rollup; echo $?
warpsheet export fixtures/imports/event-sync-a100.json.gz -o c.parquet 2>/dev/null && head -c 4 c.parquet/*/kernels.parquet
