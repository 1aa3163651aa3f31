#!/bin/sh
# How operands of TF32 are read: whole steps hold with each way that hardware has, which is told by
# its name, and do not with another.
#   tf32.sh STUB_DEVICE
set -eu

said=$(mktemp)
trap 'rm -f "$said"' EXIT
fail() {
	echo "tf32.sh: $*" >&2
	cat "$said" >&2
	exit 1
}
# steps WAY: of a model with products and convolutions
steps() { WS_STUB_TF32=$1 "$device" --filter 'device_steps/of_lenet5_are_the_cpu_s' >"$said" 2>&1; }
# told PATTERN: by every line on TF32, and there is one
told() { grep -q "^tf32:.*$1" "$said" && ! grep '^tf32:' "$said" | grep -v -q "$1"; }

device=$1
steps rounded || fail "rounded operands are refused"
told ':all as if rounded$' || fail "that operands are rounded is not told"
steps cut || fail "cut operands are refused"
told ':0 exact, 0 rounded, [1-9][0-9]* cut$' || fail "that operands are cut is not told"
steps mixed || fail "operands are refused that are cut in products and rounded in convolutions"
told ':0 exact, [1-9][0-9]* rounded, [1-9][0-9]* cut$' || fail "which operands are cut is not told"
! steps bf16 || fail "operands of 8 bits pass for TF32"
grep -q 'gradients differ by' "$said" || fail "operands of 8 bits fail by something else"
echo "four ways to read operands of TF32, three of them right"
