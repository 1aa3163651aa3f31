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
for test in elementwise fused image steps; do
	printf '#!/bin/sh\n[ -x "%s" ] || exit 77\nWS_STUB_COMPUTE=1 exec "%s" --filter "%s" "$@"\n' \
		"$build/tests/stub_cuda/stub_device_$test" "$build/tests/stub_cuda/stub_device_$test" \
		"*/of_*" >"$work/bundle/tests/gpu_device_$test"
done

export LD_LIBRARY_PATH="$build/tests/stub_cuda"
export CUDA_LIBRARIES="$build/tests/stub_cuda"
export WARPSHEET_CUPTI_PATH="$build/tests/fake_cuda/libcupti-fake.so"
export QUICK=1
for part in 1 2 3; do
	"$work/bundle/gpu/sit.sh" $part "$work/out-$part" >"$work/sit-$part.txt" 2>&1 || {
		cat "$work/sit-$part.txt"
		grep -l . "$work/out-$part"/*.txt | head -40
		fail "part $part of the sitting failed"
	}
	[ -s "$work/out-$part/table.txt" ] || fail "part $part has no table"
	grep -q '^pass ' "$work/out-$part/table.txt" || fail "nothing passed in part $part"
	[ "$(wc -c <"$work/out-$part/answers-$part.tar.gz")" -lt 16000000 ] || fail "part $part is too large"
done

# A step that hangs or dies costs itself alone.
printf '#!/bin/sh\nkill -SEGV $$\n' >"$work/bundle/tests/gpu_bench"
if "$work/bundle/gpu/sit.sh" 3 "$work/out-crash" >"$work/crash.txt" 2>&1; then
	fail "a step that crashes must show"
fi
grep -q '^fail .*ended with 139' "$work/out-crash/table.txt" || fail "the crash is not in the table"
grep -q '^pass .*trace-small' "$work/out-crash/table.txt" || fail "what follows a crash must run"

# Taken in by a project.
mkdir -p "$work/project/docs" "$work/project/fixtures/traces"
echo "# Measurements" >"$work/project/docs/measurements.md"
"$source/tests/gpu/take.sh" "$work/out-3/answers-3.tar.gz" "$work/project" >"$work/take.txt"
[ -s "$work/project/fixtures/traces/gpu-small.wtrace" ] || fail "the traces were not taken in"
grep -q '^| pass | .*trace-small' "$work/project/docs/measurements.md" || fail "the figures were not taken in"
grep -q '^2 traces' "$work/take.txt" || fail "take.sh says: $(cat "$work/take.txt")"
echo "a sitting of three parts: $(cat "$work"/out-?/table.txt | grep -c '^pass ') passed"
