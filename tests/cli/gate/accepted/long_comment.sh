# the end of a line is no line
warpsheet gate --baseline base --workload step --update fixtures/traces/step-bf16.wtrace 2>/dev/null
for n in 1021 1022 1023 4094; do
	printf '# %s2099-01-01 * * 1000 sneaky\n' "$(head -c $n /dev/zero | tr '\0' x)" >accepted
	warpsheet gate --baseline base --workload step --run-noise 1 --accept accepted --format csv fixtures/traces/step-fp32.wtrace | cut -d, -f 3
done
