# Recording of CUDA that is switched on and off from outside (--standby): docs/dev/recorder.md, 11. Ten launches before the first step and in each; a
# launch's number is its graph node
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"
# shellcheck source=tests/cli/record/standby.inc
. "$(dirname "$0")/../record/standby.inc"
export FAKE_CUPTI_KERNEL_US=200 VICTIM_STEPS=1000 VICTIM_BY_INPUT=1

standby() { # standby WHAT VERSION
	printf '\n# %s\n' "$1"
	export FAKE_CUPTI_VERSION="$2"
	begin warpsheet-record --standby -o t.wtrace -- "$tests/victim_cuda" steps 10
	go xxxx 4
	ctl start --steps 3
	go xxxxx 9
	ctl start
	go xx 11
	ctl stop
	go xxx 14
	shown
	finish
	ask "SELECT 'step ' || ((graph_node - 1) / 10) || ': ' || count(*) || ' kernels, cut off: ' || sum(dur_ns <> 200000) FROM kernel_record GROUP BY (graph_node - 1) / 10"
	ask "SELECT 'their calls: ' || count(*) FROM api_record WHERE name = 'cudaLaunchKernel_v7000'"
	ask "SELECT 'kernels without a call: ' || sum(api_start_ns IS NULL) FROM kernel"
	ask "SELECT 'waits: ' || count(*) FROM sync_record"
	ask "SELECT 'steps, and ranges in them: ' || sum(name = 'step') || ', ' || sum(name = 'inner') FROM nvtx_record WHERE type = 'push'"
	losses
}

standby 'no kernel is lost where recording is switched' 130101
standby 'subscribers with activities of their own switch them' 130400
standby 'an old CUPTI is switched on once and stays on' 130100

printf '\n# without steps and ranges a thread of the recorder switches it\n'
export FAKE_CUPTI_VERSION=130101 VICTIM_WAITS=1
begin warpsheet-record --standby -o t.wtrace -- "$tests/victim_cuda" exit 200
until [ "$(field 3)" = silent ]; do sleep 0.01; done
ctl start
until [ "$(field 3)" = recording ]; do sleep 0.01; done
echo >&3
finish
ask "SELECT count(*) || ' kernels, ' || sum(api_start_ns IS NULL) || ' without a call' FROM kernel"
losses
