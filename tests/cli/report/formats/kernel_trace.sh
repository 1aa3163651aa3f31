# every execution, of the measured step and of all, and of a filter
warpsheet report fixtures/traces/step-bf16.wtrace --table kernel-trace --format csv | head -3
warpsheet report fixtures/traces/step-bf16.wtrace --table kernel-trace --scope all --format csv | wc -l
warpsheet report fixtures/traces/step-bf16.wtrace --table kernel-trace --kernel softmax --format csv --columns 'start_ns,short_name,path'
warpsheet report fixtures/traces/step-bf16.wtrace --table kernel-trace --rows 2
