# a few slow steps that the median does not see are no pass: in all runs of the candidate alone, not the first step, not in both
run() { # run FILE STEP SLOW NOISE: the products of every STEP-th step take SLOW times as long
	awk -v every="$2" -v slow="$3" -v noise="$4" 'BEGIN {
		printf "{\"traceEvents\":[{}"
		event = ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d,\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"External id\":%d}}"
		for (i = 0; i < 12; i++) {
			begin = i * 20000
			us = (1000 + noise) * (i % every == every - 1 ? slow : 1)
			printf event, begin, us + 600, "user_annotation", "ProfilerStep#" i, 2 * i + 1
			printf event, begin + 100, us, "cpu_op", "aten::mm", 2 * i + 2
		}
		printf "]}"
	}' >run.json
	warpsheet import run.json -o "$1" >/dev/null 2>&1
}
mkdir base late both first
for i in 1 2 3; do
	run base/train-r$i.wtrace 100 1 $((3 * i))
	run late/train-r$i.wtrace 5 8 $((4 * i - 1))
	run both/train-r$i.wtrace 5 8 $((3 * i + 1))
	run first/train-r$i.wtrace 100 1 $((3 * i + 1))
	sed 's/"dur":1[0-9]*,"cat":"user_annotation","name":"ProfilerStep#0"/"dur":9000,"cat":"user_annotation","name":"ProfilerStep#0"/' run.json >first.json
	warpsheet import first.json -o first/train-r$i.wtrace >/dev/null 2>&1
done
for pair in base:late late:base late:both base:first; do
	rm -rf store
	warpsheet gate --baseline store --workload train --update ${pair%:*} 2>/dev/null
	echo "-- $pair"
	warpsheet gate --baseline store --workload train --format csv ${pair#*:} | tail -n +2
	warpsheet gate --baseline store --workload train ${pair#*:} >/dev/null
	echo "-- status $?"
done
warpsheet diff base late | sed -n '/mean step/p' | head -1
