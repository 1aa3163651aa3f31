# what is asked of a GPU, of its driver and of NVIDIA's libraries, and what is said where none was recorded
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"

run() { # run WHAT OPTION... -- PROGRAM...
	printf '\n# %s\n' "$1"
	shift
	warpsheet-record -o t.wtrace "$@" 2>said
	echo "status $?"
	said
}
record 'a program without CUDA needs no GPU' exit 10
record 'unless one is asked for' exit 10 --require-gpu
run 'the driver is told of the collector' -- /bin/sh -c 'test -f "$CUDA_INJECTION64_PATH"'
run 'unless no GPU is to be recorded' --gpu-buffers 0 -- /bin/sh -c 'test -f "$CUDA_INJECTION64_PATH"'
record 'without calls kernels have none' exit 100 --api none
ask t.wtrace 'SELECT count(api_start_ns) FROM kernel'
# ranges of libraries are asked for, never against what is set, and not for programs that are no steps
for option in --library-ranges=yes --library-ranges=no --no-args; do
	CUDNN_NVTX_LEVEL=7 warpsheet-record -o t.wtrace $option -- /bin/sh -c 'echo "$CUBLAS_NVTX_LEVEL,$CUDNN_NVTX_LEVEL"' 2>said
done

ln -s "$tests/fake_cuda/libcublas.so.13" preload.so
cublas() {
	what=$1
	shift
	run "$what" "$@" -- /usr/bin/env LD_PRELOAD=./preload.so /bin/sleep 0.5 | sed 's/was recorded: no .*/was recorded: no .../; s/was recorded: .*libcuda.*/was recorded: no .../'
}
# programs that are not ours load libraries that are: theirs come before a sanitizer's
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
export LD_LIBRARY_PATH="$tests/fake_cuda"
cublas 'a program of CUDA that never reaches the driver'
cublas 'nobody wanted a GPU' --gpu-buffers=0
export WARPSHEET_CUPTI_PATH="$tests/fake_cuda/libcupti-fake.so"
run 'with a GPU --require-gpu passes the status on' --require-gpu -- "$tests/victim_profiler" 10
export FAKE_CUPTI_SUBSCRIBE=39
run 'another tool' -- "$tests/victim_profiler" 10
run 'another tool, and a GPU is needed' --require-gpu -- "$tests/victim_profiler" 10
