#!/bin/sh
# A program killed with SIGKILL in mid-step leaves a whole trace, and the
# report shows the steps that finished and says that it was killed.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
cd "$work"

# far more steps than the test waits for
$ws record --model transformer-tiny --phase step --warmup 1 --steps 1000000 -o k.wtrace 2>record.txt &
recorder=$!
victim=
tries=0
while [ -z "$victim" ]; do
	tries=$((tries + 1))
	[ $tries -lt 200 ] || fail "warpsheet-step did not start"
	sleep 0.1
	victim=$(pgrep -P $recorder -f warpsheet-step || true)
done
sleep 3
kill -KILL "$victim"
status=0
wait $recorder || status=$?
equal "exit status of record" $status 137
contains record.txt "killed"

$ws check k.wtrace >check.txt || fail "check: $(cat check.txt)"
$ws report k.wtrace >report.txt
contains report.txt "killed by signal 9"
$ws report k.wtrace --table steps --format csv >steps.csv
[ "$(wc -l <steps.csv)" -gt 3 ] || fail "too few finished steps: $(cat steps.csv)"
