warpsheet gate --baseline base --update -- fixtures/traces/step-fp32.wtrace fixtures/traces/step-bf16.wtrace 2>/dev/null
# of other devices nothing is asked; what holds no trace is no workload
mkdir -p base/elsewhere/nvidia-h100 base/.hidden/example-gpu-invented base/empty/example-gpu-invented
cp fixtures/traces/step-fp32.wtrace base/elsewhere/nvidia-h100/run-1.wtrace
cp fixtures/traces/step-fp32.wtrace base/.hidden/example-gpu-invented/run-1.wtrace
warpsheet gate --baseline base --format csv -- fixtures/traces/step-fp32.wtrace
echo "status $?"
warpsheet gate --baseline base --workload example-fp32-b4-c128 --format csv -- fixtures/traces/step-fp32.wtrace
