# long names of operations are cut
awk 'BEGIN {
	name = sprintf("%2000s", ""); gsub(/ /, "n", name)
	printf "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"traceEvents\":[{}"
	event = ",{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"External id\":%d%s}}"
	for (i = 1; i <= 40; i++) {
		on = ",\"correlation\":" i
		printf event, 1, i * 200, 90, "cpu_op", name i, i, ""
		printf event, 1, i * 200 + 9, 5, "cuda_runtime", "cudaLaunchKernel", i, on
		printf event, 7, i * 200 + 20, 50, "kernel", "k", i, on ",\"device\":0,\"stream\":7"
	}
	printf "]}"
}' >long.json
warpsheet import long.json -o long.wtrace >/dev/null 2>&1
warpsheet gate --baseline base --workload step --update long.wtrace 2>/dev/null
sed 's/"dur":50/"dur":99/g' long.json >slow.json
warpsheet gate --baseline base --workload step --format github slow.json >comment.md 2>/dev/null
echo "status $?"
wc -c <comment.md | awk '{ print ($1 < 60000 ? "under 60000 bytes" : "too long") }'
grep -c 'nnnn.*…' comment.md
awk 'length > 200' comment.md
