# times by the GPU's own events, and locked clocks
# shellcheck source=tests/cli/cuda/record.inc
. "$(dirname "$0")/record.inc"

record 'not asked for' FAKE_CUPTI_VERSION=130401 FAKE_CUDA_MAJOR=10
told cupti.hw_trace
record 'Blackwell' FAKE_CUPTI_VERSION=130401 FAKE_CUDA_MAJOR=10 --hw-trace auto
told cupti.hw_trace
record 'Hopper' FAKE_CUPTI_VERSION=130401 FAKE_CUDA_MAJOR=9 --hw-trace auto
told cupti.hw_trace
record 'CUPTI 13.4, which leaks' FAKE_CUPTI_VERSION=130400 FAKE_CUDA_MAJOR=10 --hw-trace auto
told cupti.hw_trace
record 'refused, as with MIG' FAKE_CUPTI_VERSION=130401 FAKE_CUDA_MAJOR=10 FAKE_CUPTI_HW_TRACE=38 --hw-trace auto
told cupti.hw_trace

rm t.wtrace
record 'clocks without NVML' --lock-clocks
export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$tests/fake_nvml"
record 'clocks are locked while the program runs' --lock-clocks
told gpu.0.locked_mhz gpu.1.locked_mhz gpu.0.start.sm_clock_mhz gpu.0.end.sm_clock_mhz
for signal in HUP TERM; do
	printf '\n# SIG%s ends the program, and the clocks are free\n' $signal
	warpsheet-record --lock-clocks -o t.wtrace -- sh -c "kill -$signal \$PPID && exec sleep 3000" 2>&1 | grep -E 'killed|fake'
done
rm t.wtrace
record 'clocks that this user may not lock are refused, and none stays locked' FAKE_NVML_LOCK=4 --lock-clocks
record 'a driver that cannot' FAKE_NVML_LOCK=3 --lock-clocks
record 'not asked for'
told gpu.0.locked_mhz gpu.0.start.sm_clock_mhz
