# planted pairs of runs: what they prove, and what makes them prove nothing
trace() { # trace NAME MICROSECONDS KERNELS: ten steps of that length
	awk -v each="$2" -v kernels="$3" 'BEGIN {
		printf "{\"deviceProperties\":[{\"id\":0,\"name\":\"G\"}],\"traceEvents\":[{}"
		event = ",{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%g,\"dur\":%g,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{%s}}"
		for (step = 0; step < 10; step++) {
			at = 1000 + step * 2 * each
			printf event, 1, at, each, "user_annotation", "ProfilerStep#" step, ""
			for (i = 0; i < kernels; i++) {
				on = "\"correlation\":" ++id
				printf event, 1, at + i * 20 + 1, 5, "cuda_runtime", "cudaLaunchKernel", on
				printf event, 7, at + i * 20 + 4, 10, "kernel", "k", on ",\"device\":0,\"stream\":7"
			}
		}
		printf "]}"
	}' >t.json
	warpsheet import t.json -o "$1.wtrace" >/dev/null 2>&1
	echo result=ok >"$1.status"
}
pairs() { # pairs FOLDER FROM TO A-MICROSECONDS B-MICROSECONDS: that vary a little
	mkdir -p "$1"
	for n in $(seq "$2" "$3"); do
		trace "$1/a-r$n" "$(($4 + n * 7 % 5)).0$n" 20
		trace "$1/b-r$n" "$(($5 + n * 3 % 5)).0$n" 20
	done
}
judge() {
	warpsheet referee "$@"
	echo "status $?"
}
pairs faster 1 8 1340 1000
judge faster --table referee --format csv
pairs faster 9 10 1340 1000
judge faster --table referee --format csv
judge faster
pairs slower 1 10 1000 1050
judge slower --table referee --format csv
pairs same 1 12 1000 1000
judge same --table referee --format csv
# the gate takes such a folder, too
gate() {
	warpsheet gate "$@" --format csv
	echo "status $?"
}
gate faster
gate slower
gate slower --threshold 10
gate same
# a cache of outputs: half the work
pairs cached 1 10 1340 1000
for n in $(seq 1 10); do trace "cached/b-r$n" $((1000 + n)) 10; done
judge cached --table referee --format csv
# a run that failed is left out, with its partner
echo 'result=exit status 1: no GPU' >faster/b-r3.status
judge faster --table referee --format csv
gate faster
# records that a trace lacks could be what B did not show
cp -r same lost
sed 's/"dur":10,"cat":"kernel"/"cat":"kernel"/' t.json >l.json
warpsheet import l.json -o lost/b-r5.wtrace >/dev/null 2>&1
judge lost --table referee --format csv
# a copy of a run adds nothing
cp slower/b-r1.wtrace slower/b-r2.wtrace
judge slower --table referee --format csv
gate slower
# no pairs
mkdir none
judge none
