#!/bin/sh
# All that needs a GPU to be known about the CUDA backend, in one sitting of ten minutes:
#   run.sh [BUILD [OUT]]
# BUILD: build folder (default build/gpu, made with the release preset's settings if it is not
# there); OUT: folder for the answers (default BUILD/gpu-answers): table.txt, results.json and
# the output of every part. Ends with 0 when all parts passed, 1 when one did not, 77 without a
# GPU. What a part needs and does not find (compute-sanitizer, PyTorch) is said and left out.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/gpu}
out=${2:-$build/gpu-answers}
if [ ! -f "$build/CMakeCache.txt" ]; then
	cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DWARPSHEET_CUDA=ON || exit 1
fi
cmake --build "$build" || exit 1
build=$(cd "$build" && pwd)
tests=$build/tests
mkdir -p "$out"
out=$(cd "$out" && pwd)
lines=$out/lines.json
: >"$lines"

"$tests/gpu_probe" || exit $?

# part NAME STATUS SECONDS: what became of it
part() {
	case $2 in
	0) verdict=passed ;;
	77) verdict=skipped ;;
	*) verdict=FAILED ;;
	esac
	printf '%-58s %-8s %4d s\n' "$1" "$verdict" "$3"
	printf '{"kind":"part","name":"%s","verdict":"%s","seconds":%d}\n' "$1" "$verdict" "$3" >>"$lines"
}

# run NAME COMMAND...: a part, its output kept
run() {
	name=$1
	shift
	begin=$(date +%s)
	"$@" >"$out/$(echo "$name" | tr ' /' '--').txt" 2>&1
	part "$name" $? $(($(date +%s) - begin))
}

{
	# ops against the reference, whole steps, two runs equal: the device tests do all three
	for test in elementwise fused image steps; do
		run "device $test against the CPU" "$tests/gpu_device_$test"
	done
	run "ctest -L gpu" ctest --test-dir "$build" -L gpu --output-on-failure \
		-E 'gpu\.device_'

	if command -v compute-sanitizer >/dev/null; then
		for tool in memcheck racecheck; do
			# Criterion's workers are processes of their own
			run "compute-sanitizer $tool" compute-sanitizer --tool $tool \
				--target-processes all --error-exitcode 1 \
				"$tests/gpu_device_fused" -j1 --filter '*/causal_softmax_of*'
			run "compute-sanitizer $tool, steps" compute-sanitizer --tool $tool \
				--target-processes all --error-exitcode 1 \
				"$tests/gpu_device_steps" -j1 --filter '*/of_lenet5*'
		done
	else
		part "compute-sanitizer (not found)" 77 0
	fi

	if [ -x "$tests/gpu_bench" ]; then
		begin=$(date +%s)
		"$tests/gpu_bench" >"$out/bench.json" 2>"$out/bench.txt"
		part "ceilings, own kernels, steps" $? $(($(date +%s) - begin))
		cat "$out/bench.json" >>"$lines"
	else
		part "ceilings, own kernels, steps (built without CUDA)" 77 0
	fi

	if python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
		begin=$(date +%s)
		python3 "$root/tests/gpu/torch_steps.py" >"$out/torch.json" 2>"$out/torch.txt"
		part "the same steps in PyTorch, eager and compiled" $? $(($(date +%s) - begin))
		cat "$out/torch.json" >>"$lines"
	else
		part "PyTorch (not found, or without a GPU)" 77 0
	fi

	python3 "$root/tests/gpu/table.py" "$lines" "$out/results.json"
} | tee "$out/table.txt"

# the pipe hides what the parts said
! grep -q ' FAILED ' "$out/table.txt"
