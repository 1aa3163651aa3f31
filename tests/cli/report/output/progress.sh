# how far a report is comes on a terminal, and only there: by a clock that goes on by 2 s at every look
ln -s "$(dirname "$(command -v warpsheet)")/../tests/fake_cuda/libfake_clock.so" clock.so
run='LD_PRELOAD=./clock.so FAKE_CLOCK_TICK_MS=2000 warpsheet report fixtures/traces/step-fp32.wtrace -o r.html'
script -qec "$run" /dev/null | tr '\r' '\n' |
	grep -o '[a-z0-9.-]*: [0-9]* %' | sed 's/[0-9]* %/N %/' | sort -u
sh -c "$run" 2>&1 | grep -c '[0-9]* %' || :
