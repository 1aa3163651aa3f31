warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
echo '2026-12-31 step * 70 the driver of December' >accepted
warpsheet gate --baseline base --workload step --run-noise 1 --accept accepted --today 2027-01-01 --format csv fixtures/traces/step-fp32.wtrace
