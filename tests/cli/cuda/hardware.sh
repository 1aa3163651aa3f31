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

# samples of GPUs: the NVML of the tests gives 500 mJ more each time, and no temperature, as it lacks the function
samples() { # more than one; energies 500 mJ apart; each value
	ask "SELECT count(*) > 1, max(energy_mj) - 1000000 = 500 * (count(nullif(energy_mj, -1)) - 1), min(energy_mj), min(device) || max(device),
		min(power_mw), max(power_mw), min(sm_mhz), min(memory_mhz), max(temperature_c), max(throttle) FROM gpu_sample_record"
}
record 'the GPU that CUDA calls 0 and NVML calls 1' FAKE_NVML_ENERGY=10000 pause=500000 --gpu-samples 20
samples
record 'NVML fails after the first energy' FAKE_NVML_ENERGY=1 pause=500000 --gpu-samples 20 | sed 's/gpu_sample_failed [1-9][0-9]*/gpu_sample_failed N/'
samples
told gpu.samples_failed
record 'NVML does not return' FAKE_NVML_ENERGY=10000 FAKE_NVML_HANG=1 pause=500000
samples
record 'a GPU whose address NVML does not give' pause=500000 --gpu-samples 20
samples
record 'no samples' FAKE_NVML_ENERGY=10000 --gpu-samples 0
samples
rm t.wtrace
record 'too often' --gpu-samples 19
