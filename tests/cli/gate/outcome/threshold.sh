# slower by 60 %: within a threshold, too near to it, and over it
warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
for percent in 70 60 50; do
	warpsheet gate --baseline base --workload step --run-noise 1 --threshold $percent --format csv fixtures/traces/step-fp32.wtrace |
		cut -d, -f3,12-
done
