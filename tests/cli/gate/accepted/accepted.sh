warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
printf '# until workload device percent reason\n2026-12-30 * * 90 over\n2026-12-31 st* * 70%% the driver of December\n' >accepted
warpsheet gate --baseline base --workload step --run-noise 1 --accept accepted --today 2026-12-31 --format csv fixtures/traces/step-fp32.wtrace
# its day, its size, its workload and its device must fit
try() { # try TODAY LINE
	printf '%b\n' "$2" >accepted
	warpsheet gate --baseline base --workload step --run-noise 1 --accept accepted --today "$1" --format csv \
		fixtures/traces/step-fp32.wtrace | sed -n '2s/^\([^,]*,[^,]*,[^,]*\),.*kernels\.\(.*\)".*/\1:\2/p'
}
try 2026-12-31 '2026-12-31 step example-gpu-invented 70 the driver'
try 2026-01-01 '2028-02-29 \tst*  * 70.25 the driver'
try 2027-01-01 '2026-12-31 step * 70 the driver'
try 2026-12-01 '2026-12-31 step * 40 the driver'
try 2026-12-01 '2026-12-31 other * 70 the driver'
try 2026-12-01 '2026-12-31 step nvidia-a100 70 it'
