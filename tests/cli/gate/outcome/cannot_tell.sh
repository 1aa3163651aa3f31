warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
warpsheet gate --baseline base --workload step --format csv fixtures/traces/step-fp32.wtrace
