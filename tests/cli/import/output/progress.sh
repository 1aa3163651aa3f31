# how far an import is is told on a terminal, and only there: one whose disk takes its time
slow=$(dirname "$(command -v warpsheet)")/../tests/fake_cuda/libslow_disk.so
awk 'BEGIN {
	print "{\"traceEvents\":["
	for (i = 1; i < 100000; i++)
		printf "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":1},\n", i * 7
	print "{\"ph\":\"M\"}]}"
}' >a.json
run='warpsheet import a.json -o a.wtrace'
LD_PRELOAD=$slow SLOW_DISK_NS_PER_BYTE=400000 script -qec "$run" /dev/null | tr '\r' '\n' |
	grep -o 'a.json: [0-9]* %' | sed 's/[0-9]* %/N %/' | sort -u
$run 2>&1 | grep -c 'a.json: [0-9]* %' || :
