# the comment as it is read: the answer, a row per workload, a line of cause, the rest folded
profile() { # FILE NS
	awk -v ns="$2" 'BEGIN {
		printf "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"traceEvents\":[{}"
		event = ",{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":%d,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"External id\":%d%s}}"
		for (i = 1; i <= 60; i++) {
			k = (i - 1) % 6
			begin = int((i - 1) / 6) * 2000
			on = ",\"correlation\":" i
			op = i % 2 ? "aten::mm" : "aten::softmax"
			if (!k) {
				printf event, 1, begin, 400, "user_annotation", "ProfilerStep#" int(i / 6), i, ""
				at = begin + 20
			}
			printf event, 1, begin + 12 * k, 11, "cpu_op", op, i, ""
			printf event, 1, begin + 12 * k + 1, 5, "cuda_runtime", "cudaLaunchKernel", i, on
			printf event, 7, at, i % 2 ? ns : 50, "kernel", i % 2 ? "sgemm" : "softmax", i, on ",\"device\":0,\"stream\":7"
			at += i % 2 ? ns : 50
		}
		printf "]}"
	}' >"$1"
}
mkdir base runs
for w in bert gpt2 mlp resnet vit; do
	profile "$w.json" 100
	warpsheet import "$w.json" -o "runs/train-$w-fp32.wtrace" >/dev/null 2>&1
done
warpsheet gate --baseline base --update runs 2>/dev/null
warpsheet gate --baseline base --run-noise 1 --format github runs
profile mlp.json 160
warpsheet import mlp.json -o runs/train-mlp-fp32.wtrace >/dev/null 2>&1
echo "--"
warpsheet gate --baseline base --run-noise 1 --format github runs
echo "-- status $?"
warpsheet gate --baseline base --format github runs
echo "-- status $?"
