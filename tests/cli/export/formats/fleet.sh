mkdir runs && cp fixtures/traces/step-bf16.wtrace runs/rank-1.wtrace && cp fixtures/traces/step-fp32.wtrace runs/rank-2.wtrace
warpsheet export runs -o fleet.parquet && ls fleet.parquet | wc -l
warpsheet export runs/rank-1.wtrace runs/rank-2.wtrace -o named --format parquet && diff -r fleet.parquet named && echo same
warpsheet export runs -o sums --format parquet --rollup && ls sums
warpsheet export runs/rank-1.wtrace runs/rank-2.wtrace -o t.json; echo $?
warpsheet export runs -o t.sqlite; echo $?
warpsheet export runs -o ranks.parquet --rank 7; echo $?
echo no trace >runs/rank-3.wtrace && warpsheet export runs -o broken.parquet; echo $?; ls broken.parquet
