# what took the place of folders of CSV files
warpsheet export fixtures/traces/step-bf16.wtrace -o t.csv; echo $?
warpsheet export fixtures/traces/step-bf16.wtrace -o t --format csv; echo $?
warpsheet query fixtures/traces/step-bf16.wtrace "SELECT * FROM kernel_record" -o kernel.csv && head -n 2 kernel.csv
ls
