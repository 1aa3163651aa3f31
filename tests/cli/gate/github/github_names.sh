# names in a comment notify nobody, link nowhere and draw nothing: outside of code is none of them
awk 'BEGIN {
	n = split("@octocat|see #1|$x$|https://evil.example/x|a::heart::b|`@org/team|GH-12", names, "|")
	printf "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"traceEvents\":[{}"
	event = ",{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%d,\"dur\":%d,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"External id\":%d%s}}"
	for (i = 1; i <= 70; i++) {
		on = ",\"correlation\":" i
		name = names[i % n + 1]
		printf event, 1, i * 200 - 2, 95, "user_annotation", name, i, ""
		printf event, 1, i * 200, 90, "cpu_op", name, i, ""
		printf event, 1, i * 200 + 9, 5, "cuda_runtime", "cudaLaunchKernel", i, on
		printf event, 7, i * 200 + 20, 50, "kernel", name, i, on ",\"device\":0,\"stream\":7"
	}
	printf "]}"
}' >base.json
sed 's/"dur":50/"dur":99/g' base.json >slow.json
warpsheet import base.json -o base.wtrace >/dev/null 2>&1
warpsheet gate --baseline base --workload step --update base.wtrace 2>/dev/null
warpsheet gate --baseline base --workload step --run-noise 1 --format github slow.json >comment.md 2>/dev/null
warpsheet diff base.json slow.json --format md >diff.md 2>/dev/null
warpsheet report slow.json --format md >report.md 2>/dev/null
warpsheet sweep base.json slow.json --format md >sweep.md 2>/dev/null
grep -cE '`(@octocat|see #1|\$x\$|https://evil.example/x|a::heart::b|GH-12)`|`` `@org/team ``' comment.md diff.md report.md | sed 's/[1-9][0-9]*$/some/'
# without code none is left
sed -E 's/``[^`]+`[^`]+``//g; s/`[^`]*`//g' comment.md diff.md report.md sweep.md | grep -E '@|#[0-9]|\$|://|:[a-z]+:|GH-'
