folder=base/step/example-gpu-invented
warpsheet gate --baseline base --workload step --update fixtures/traces/step-fp32.wtrace 2>/dev/null
for old in run-0 run-01 run-1-old run-2 other; do cp $folder/run-1.wtrace $folder/$old.wtrace; done
cp fixtures/imports/event-sync-a100.json.gz $folder/
warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace
ls $folder
