#!/bin/sh
# The whole of a sitting on the CUDA of tests/stub_cuda: the bundle is made and tried in an empty
# root, its three parts run from it, what they bring back is taken in.
#   test_sitting.sh BUILD
# The programs that compare numbers are those that compute on the stub, where they are built.
set -eu

build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "test_sitting.sh: $*" >&2
	exit 1
}

"$source/tests/gpu/bundle.sh" "$work/bundle" "$build" >"$work/bundle.txt" 2>&1 || {
	# no chroot for this user here: the rest can be tried all the same
	if grep -q 'cannot change root directory\|unshare failed\|Operation not permitted' "$work/bundle.txt"; then
		echo "no chroot here: the check in an empty root is left out"
	else
		cat "$work/bundle.txt"
		fail "the bundle is not as it must be"
	fi
}
tail -1 "$work/bundle.txt"
printf '#!/bin/sh\nWS_STUB_COMPUTE=1 exec "%s" "$@"\n' "$build/tests/stub_cuda/stub_device" \
	>"$work/bundle/tests/gpu_device"

export LD_LIBRARY_PATH="$build/tests/stub_cuda"
export CUDA_LIBRARIES="$build/tests/stub_cuda"
export WARPSHEET_CUPTI_PATH="$build/tests/fake_cuda/libcupti-fake.so"
# a machine may be busy: limits of time are tried below, on steps that pass any
export WITHOUT_GRAPHS=1 QUICK=1 STEP_LIMIT_S=3600 PART_LIMIT_S=7200
for part in 1 2 3; do
	PYTHONPATH=$source/tests/stub_cuda \
	"$work/bundle/gpu/sit.sh" $part "$work/out-$part" >"$work/sit-$part.txt" 2>&1 || {
		cat "$work/sit-$part.txt"
		grep -h -A 3 'warpsheet.*: ' "$work/out-$part"/*.txt | head -20
		fail "part $part of the sitting failed: $(grep '^fail' "$work/out-$part/table.txt")"
	}
	[ -s "$work/out-$part/table.txt" ] || fail "part $part has no table"
	grep -q '^pass ' "$work/out-$part/table.txt" || fail "nothing passed in part $part"
	[ "$(wc -c <"$work/out-$part/answers-$part.tar.gz")" -lt 16000000 ] || fail "part $part is too large"
done

# With PyTorch its branches are as whole; every kernel is judged at 256 MiB and more, or says why it cannot be.
for line in "info .*gradients apart from the CPU's, most of .*, judged .*at most 3e-03" "pass .*PyTorch's own profiler under recording" "info .*PyTorch: a step not recorded" \
	"pass .*torch.cuda.graph: launches that seem" "pass .*ours beside torch eager " "pass .*ours beside torch compile " \
	"pass .*ours beside torch compile, fused attention" "info .*, ours, fused attention: .* tokens/s" "info .*ceiling: " \
	"info .*step: resnet50 .*, ours, nhwc: .* images/s" "pass .*kernels by name: as PyTorch's profiler counts them" \
	"info .*step of mlp: not recorded" "pass .*the same step of mlp ten times: ends with" \
	"pass .*devices with a UUID" "info .*soak: processors busy" "info .*runtime launches: added by the default to the host's" \
	"pass .*kernels of a compiled step: of Triton" "pass .*device-steps-free-autotune" "pass .*device-functions" "pass .*segment-dir" "pass .*transformer-small tf32 .*ours beside torch eager" \
	"info .*products whose operands of TF32 are .*all as if rounded" "pass .*programs whose libraries were looked at" \
	"pass .*recording: kernels of 1100 .* 1100$" "pass .*: by the runtime .* at least 1000$"; do
	grep -q "^$line" "$work"/out-?/table.txt || fail "no line of the tables is: $line"
done
python3 - "$work/out-1/lines.json" <<'PYTHON' || fail "kernels are judged at sizes that a cache holds"
import json, sys

most = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    if row["kind"] == "kernel" and row["bytes"] >= most.get(row["name"], row)["bytes"]:
        most[row["name"]] = row
judged = [r for r in most.values() if r["bytes"] >= 256 << 20 and r["verdict"] in ("pass", "slow") and not r["why"]]
told = [r for r in most.values() if r["verdict"] == "info" and r["why"]]
print(len(judged), "kernels judged,", len(told), "that cannot be")
sys.exit(len(judged) < 60 or len(judged) + len(told) != len(most) or len(told) > 4)
PYTHON

# A step that dies or hangs costs itself alone, and without time left none is begun.
printf '#!/bin/sh\nkill -SEGV $$\n' >"$work/bundle/tests/gpu_bench"
if "$work/bundle/gpu/sit.sh" 2 "$work/out-crash" >"$work/crash.txt" 2>&1; then
	fail "a step that crashes must show"
fi
grep -q '^fail .*ended with 139' "$work/out-crash/table.txt" || fail "the crash is not in the table"
grep -q '^pass .*trace-small' "$work/out-crash/table.txt" || fail "what follows a crash must run"
printf '#!/bin/sh\nexec sleep 3600\n' >"$work/bundle/tests/gpu_bench"
printf '#!/bin/sh\nkill -SEGV $$\n' >"$work/bundle/bin/warpsheet-step"
STEP_LIMIT_S=1 "$work/bundle/gpu/sit.sh" 2 "$work/out-hang" >"$work/hang.txt" 2>&1 || :
[ "$(grep -c '^fail .*within 1 s' "$work/out-hang/table.txt")" -ge 4 ] ||
	fail "steps that hang are not ended one by one: $(cat "$work/hang.txt")"
grep -q '^fail .*a step on the GPU .*139' "$work/out-hang/table.txt" || fail "a first step that crashes is not told"
mkdir "$work/out-dead"
printf '#!/bin/sh\nkill -SEGV $$\n' >"$work/bundle/tests/gpu_bench"
QUICK=1 STEP_MODELS=mlp sh "$work/bundle/gpu/capture.sh" "$work/bundle" "$work/out-dead" steps >"$work/dead.txt" 2>&1 || :
grep -q '^slow .*step of mlp: added by recording .*nothing' "$work/dead.txt" || fail "a step that crashes has a time: $(cat "$work/dead.txt")"
PART_LIMIT_S=0 "$work/bundle/gpu/sit.sh" 2 "$work/out-late" >"$work/late.txt" 2>&1 || :
[ "$(grep -c '^fail .*no time left' "$work/out-late/table.txt")" -ge 6 ] ||
	fail "steps are begun without time: $(cat "$work/late.txt")"

# Who is ended in the middle of a step leaves what was known before it.
mkdir "$work/kept"
printf '#!/bin/sh\nexec sleep 3600\n' >"$work/bundle/tests/gpu_bench"
STEP_LIMIT_S=3600 KEEP="$work/kept" timeout 20 "$work/bundle/gpu/sit.sh" 2 "$work/out-ended" >"$work/ended.txt" 2>&1 && fail "it hung"
for file in table.txt lines.json answers-2.tar.gz; do
	[ -s "$work/kept/$file" ] || fail "of a part that is ended $file is not kept: $(ls -la "$work/kept")"
done
tar -tzf "$work/kept/answers-2.tar.gz" >/dev/null || fail "the archive of a part that is ended is not whole"

# Taken in by a project.
mkdir -p "$work/project/docs/dev" "$work/project/fixtures/traces"
echo "# Measurements" >"$work/project/docs/dev/measurements.md"
"$source/tests/gpu/take.sh" "$work/out-2/answers-2.tar.gz" "$work/project" >"$work/take.txt"
[ -s "$work/project/fixtures/traces/gpu-small.wtrace" ] || fail "the traces were not taken in"
grep -q '^| pass | trace-small | [0-9]* s |  |$' "$work/project/docs/dev/measurements.md" || fail "the figures were not taken in"
grep -q '^2 traces' "$work/take.txt" || fail "take.sh says: $(cat "$work/take.txt")"
echo "a sitting of three parts: $(cat "$work"/out-?/table.txt | grep -c '^pass ') passed"
