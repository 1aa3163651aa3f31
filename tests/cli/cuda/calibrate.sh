# steps that are not recorded (--calibrate): docs/dev/recorder.md, 10. Ten launches before the first step and in each; a launch's number is its graph node
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

steps="WITH step AS (SELECT time_ns, row_number() OVER (ORDER BY time_ns) - 1 AS n FROM nvtx_record WHERE type = 'push' AND name = 'step'),
	period AS (SELECT calibration, (SELECT max(n) FROM step WHERE step.time_ns <= op_period_record.start_ns) AS n FROM op_period_record),
	left_out AS (SELECT n FROM period WHERE calibration IN ('unrecorded', 'settling'))"

calibrate() { # calibrate WHAT VERSION STEPS
	record "$1" FAKE_CUPTI_VERSION="$2" FAKE_CUPTI_KERNEL_US=200 VICTIM_STEPS="$3" @steps count=10 --calibrate
	ask "$steps SELECT 'steps: ' || count(*) FROM step"
	ask "$steps SELECT calibration || ': ' || count(*) || ', of the first twenty: ' || sum(n < 20) FROM period GROUP BY calibration"
	ask "$steps SELECT 'compared or unrecorded behind fewer than two steps of its kind: ' || count(*) FROM period p
		WHERE calibration <> 'settling' AND (SELECT count(*) FROM left_out l WHERE l.n IN (p.n - 1, p.n - 2)) <> 2 * (calibration = 'unrecorded')"
	ask "$steps SELECT 'kernels of steps left out: ' || count(*) FROM kernel_record WHERE graph_node > 10 AND (graph_node - 1) / 10 - 1 IN left_out"
	ask "SELECT 'kernels that were cut off: ' || sum(dur_ns <> 200000) FROM kernel_record"
	ask "SELECT 'their calls: ' || count(*) FROM api_record WHERE name = 'cudaLaunchKernel_v7000'"
	ask "SELECT 'waits: ' || count(*) FROM sync_record"
	ask "SELECT 'ranges in steps: ' || count(*) FROM nvtx_record WHERE type = 'push' AND name = 'inner'"
	ask "SELECT 'its ranges of start and end have their end: ' || (ifnull(sum(type = 'start'), 0) = ifnull(sum(type = 'end'), 0)) FROM nvtx_record WHERE type IN ('start', 'end')"
	ask "SELECT 'ends without a begin: ' || count(*) FROM nvtx_record e WHERE type = 'end' AND NOT EXISTS (SELECT 1 FROM nvtx_record s WHERE s.type = 'start' AND s.range = e.range)"
	ask "SELECT 'ranges of the other thread are left out as a whole: ' || (sum(name = 'other') >= sum(name = 'in other')) FROM nvtx_record WHERE type = 'push'"
}

calibrate 'no kernel is lost where recording is switched' 130101 200
calibrate 'subscribers with activities of their own switch them' 130400 200
calibrate 'an old CUPTI records everything' 130100 200
calibrate 'twenty steps are too few' 130101 20

# killed in step 40, the first that is left out and not there to settle
counted() {
	ask "SELECT 'kernels: ' || (SELECT count(*) FROM kernel_record) || ', their calls: ' || (SELECT count(*) FROM api_record WHERE name = 'cudaLaunchKernel_v7000') ||
		', steps: ' || (SELECT count(*) FROM nvtx_record WHERE type = 'push' AND name = 'step') || ', rows of steps: ' || (SELECT count(*) FROM op_period_record) AS told"
}
record 'a program that is killed in a step that is left out' FAKE_CUPTI_VERSION=130101 VICTIM_STEPS=200 VICTIM_KILL=40 @steps count=10 --calibrate
counted
printf '\n# %s\n' 'a launcher that is killed in such a step: the program goes on'
mkdir -m 700 segments
# its output ends when the program does
(FAKE_CUPTI_VERSION=130101 VICTIM_STEPS=200 VICTIM_KILL=40 VICTIM_KILLS=launcher \
	warpsheet-record --segment-dir segments -o u.wtrace --calibrate -- "$tests/victim_cuda" steps 10 1 0 || :) 2>/dev/null | cat
warpsheet-record --salvage segments/* 2>/dev/null
echo "status $?"
mv u.wtrace t.wtrace
counted
losses
