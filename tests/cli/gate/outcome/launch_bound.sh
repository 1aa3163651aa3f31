# of two runs that wait for launches one takes four times as long: certainly slower
trace() { # trace NAME MICROSECONDS-PER-LAUNCH
	awk -v each="$2" 'BEGIN {
		printf "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"traceEvents\":[{}"
		event = ",{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%g,\"dur\":%g,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{%s}}"
		for (step = 0; step < 10; step++) {
			at = 1000 + step * 21 * each
			printf event, 1, at, 20 * each, "user_annotation", "ProfilerStep#" step, ""
			for (i = 0; i < 20; i++) {
				on = "\"correlation\":" ++id
				printf event, 1, at + i * each + 1, 5, "cuda_runtime", "cudaLaunchKernel", on
				printf event, 7, at + i * each + 4, 10, "kernel", "k", on ",\"device\":0,\"stream\":7"
			}
		}
		printf "]}"
	}' >"$1.json"
	warpsheet import "$1.json" -o "$1.wtrace" >/dev/null 2>&1
}
for k in 1 2 3; do
	trace base-$k 20.0$k
	trace run-$k 80.0$k
done
warpsheet gate --baseline base --workload w --update base-?.wtrace
warpsheet gate --baseline base --workload w --format csv run-?.wtrace
echo "status $?"
warpsheet diff base-1.wtrace base-2.wtrace base-3.wtrace -- run-?.wtrace --threshold 5 >/dev/null
echo "status $?"
warpsheet diff base-1.wtrace base-2.wtrace base-3.wtrace -- run-?.wtrace --table diff-verdict --format csv | grep -o '^overall.*AMBIGUOUS'
