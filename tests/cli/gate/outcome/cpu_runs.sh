# runs without a GPU are judged by the host's steps, and a cause is the CPU time of operations; how many runs would settle it is known
run() { # run FILE NS-PER-PRODUCT
	awk -v ns="$2" 'BEGIN {
		printf "{\"traceEvents\":[{}"
		event = ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"External id\":%d}}"
		for (i = 0; i < 10; i++) {
			begin = i * 10000
			printf event, begin, 2 * ns + 600, "user_annotation", "ProfilerStep#" i, 3 * i + 1
			printf event, begin + 100, ns, "cpu_op", "aten::mm", 3 * i + 2
			printf event, begin + 200 + ns, ns, "cpu_op", "aten::softmax", 3 * i + 3
		}
		printf "]}"
	}' >run.json
	warpsheet import run.json -o "$1" >/dev/null 2>&1
}
mkdir base a b c
for i in 1 2 3; do
	run a/train-r$i.wtrace $((1000 + 30 * i))
	run b/train-r$i.wtrace $((1025 + 35 * i))
	run c/train-r$i.wtrace $((1500 + 30 * i))
done
warpsheet gate --baseline base --workload train --update a 2>/dev/null
for side in a b c; do
	warpsheet gate --baseline base --workload train --format csv $side
	echo "-- status $?"
done
