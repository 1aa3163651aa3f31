warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
printf '# until workload device percent reason\n2026-12-30 * * 90 over\n2026-12-31 st* * 70%% the driver of December\n' >accepted
warpsheet gate --baseline base --workload step --run-noise 1 --accept accepted --today 2026-12-31 --format csv fixtures/traces/step-fp32.wtrace
