# Traces that the flight recorder writes while the program runs, docs/dev/recorder.md, 12. Steps take 50 ms; planted ones
# 3 s, and one that takes over 1 s is slow.
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"
steps="python3 $(dirname "$0")/../../recorder/record/steps.py"

show() { # the reason, and whether two steps before the slow one are there, and it
	for trace in t*.wtrace; do
		echo "$trace: $(warpsheet info "$trace" | sed -n 's/^  flight\.\(trigger\|step\|slow_steps\)  *\(.*\)/\1 \2/p' | paste -sd' ')"
		warpsheet check "$trace" | grep -v ', closed; whole$' || :
		warpsheet report "$trace" | grep -o 'losses are not counted' || :
		start=$(warpsheet info "$trace" | sed -n 's/^  flight\.step_start_ns *//p')
		[ -z "$start" ] || ask "$trace" "SELECT CASE WHEN sum(time_ns < $start) >= 2 THEN 'steps before, ' ELSE 'none, ' END ||
			sum(time_ns = $start) || ' slow' FROM nvtx_record WHERE type = 'push' AND name = 'step'" 1
	done
	rm t*.wtrace
}

echo '# each planted step has a trace; the run ends well'
warpsheet-record --keep 9 --flush-interval 100 --when 'step > 20x median' -o t.wtrace -- $steps 12:50 1:50:3000 40:50 1:50:3000 20:50 2>/dev/null
show
echo '# two slow steps close to each other; then a bad end'
warpsheet-record --keep 9 --flush-interval 500 --when 'step > 20x median' -o t.wtrace -- $steps 8:50 1:50:3000 1:50:4000 30:50 kill 2>/dev/null
show
echo '# a slow step at the very end is in the last trace'
warpsheet-record --keep 9 --when 'step > 20x median' -o t.wtrace -- $steps 8:50 1:50:3000 exit:3 2>/dev/null
show
echo '# steps of two threads, of which one takes 1.2 s: each step is judged by those of its thread'
warpsheet-record --keep 9 --flush-interval 100 --when 'step > 20x median' -o t.wtrace -- $steps 1:1200 beside:12:50,1:3000,60:50 3:1200 2>/dev/null
warpsheet report t.1.wtrace --table slow-step --format csv | grep -c ^beside
show
echo '# a signal, which the program does not get'
warpsheet-record --keep 9 --flush-interval 100 --when signal -o t.wtrace -- $steps 8:50 usr2 20:50 2>/dev/null
show
echo '# its counters of losses are of that time'
warpsheet-record --keep 0.3 --flush-interval 50 --when signal -o t.wtrace -- $steps 60:10 usr2 20:20 2>/dev/null
show
echo '# before anything is recorded'
warpsheet-record --keep 9 --when signal -o t.wtrace -- sh -c 'kill -USR2 $PPID; sleep 1; exit 3' 2>&1 | grep yet
show
echo '# warpsheet ctl dump'
warpsheet-record --keep 9 --flush-interval 100 -o t.wtrace -- $steps 8:50 dump 20:50 2>/dev/null | sed 's/process [0-9]*/process N/'
show
echo '# wrong words'
for when in step 'step > 1x median' 'step > 2x mean' never; do
	warpsheet-record --keep 1 --when "$when" -o t.wtrace -- $steps 1:1 2>&1
done
warpsheet-record --when signal -o t.wtrace -- $steps 1:1 2>&1
:
