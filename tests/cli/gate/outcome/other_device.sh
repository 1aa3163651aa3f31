mkdir -p base/step/nvidia-h100 && cp fixtures/traces/step-fp32.wtrace base/step/nvidia-h100/run-1.wtrace
warpsheet gate --baseline base --workload step --format csv fixtures/traces/step-fp32.wtrace
