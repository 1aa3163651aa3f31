#!/bin/sh
# A program killed with SIGKILL in mid-step leaves a whole trace, and the
# report shows the steps that finished and says that it was killed.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
cd "$work"

: >loss.csv
# far more steps than the test waits for; --dump-loss tells how far it is
"$ws" record --model transformer-tiny --phase step --warmup 1 --steps 1000000 --dump-loss -o k.wtrace \
	>loss.csv 2>record.txt &
recorder=$!
trap 'kill $recorder 2>/dev/null || :; rm -rf "$work"' EXIT
while [ "$(wc -l <loss.csv)" -lt 10 ]; do
	kill -0 $recorder 2>/dev/null || fail "ended before ten steps: $(cat record.txt)"
	sleep 0.1
done
victim=$(pgrep -P $recorder -f warpsheet-step) || fail "warpsheet-step is no child of the recorder"
kill -KILL "$victim"
status=0
wait $recorder || status=$?
equal "exit status of record" $status 137
contains record.txt "killed"

"$ws" check k.wtrace >check.txt || fail "check: $(cat check.txt)"
"$ws" report k.wtrace | tr '\n' ' ' >report.txt # a sentence may be on two lines
contains report.txt "the program was killed"
"$ws" report k.wtrace --table summary >summary.txt
contains summary.txt "killed by signal 9"
"$ws" report k.wtrace --table steps --format csv >steps.csv
[ "$(wc -l <steps.csv)" -gt 3 ] || fail "too few finished steps: $(cat steps.csv)"
