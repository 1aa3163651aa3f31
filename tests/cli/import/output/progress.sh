# how far an import is is told on a terminal, and only there: one that takes its time, by a clock
# that is 300 ms later at every look. A link, since LD_PRELOAD takes no path with a blank
ln -s "$(dirname "$(command -v warpsheet)")/../tests/fake_cuda/libfake_clock.so" clock.so
awk 'BEGIN {
	print "{\"traceEvents\":["
	for (i = 1; i < 100000; i++)
		printf "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"f\",\"pid\":1,\"tid\":2,\"ts\":%d,\"dur\":1},\n", i * 7
	print "{\"ph\":\"M\"}]}"
}' >a.json
run='LD_PRELOAD=./clock.so FAKE_CLOCK_TICK_MS=300 warpsheet import a.json -o a.wtrace'
script -qec "$run" /dev/null | tr '\r' '\n' |
	grep -o 'a.json: [0-9]* %' | sed 's/[0-9]* %/N %/' | sort -u
sh -c "$run" 2>&1 | grep -c 'a.json: [0-9]* %' || :
