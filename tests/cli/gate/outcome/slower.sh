warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
warpsheet gate --baseline base --workload step --run-noise 1 fixtures/traces/step-fp32.wtrace
