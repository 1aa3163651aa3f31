#!/bin/sh
# Operations of programs as PyTorch's own profiler has them and as the recorder has them, both of
# one run: 0 differences. oracle.sh BIN PROGRAM… The Python with PyTorch: $WARPSHEET_TEST_TORCH, python3.
# What must have been recorded: $WS_TORCH_RECORDED, else shapes; of all else the names are compared.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

shift
"$ws" record --pytorch=full -o t.wtrace -- "$python" "$here/programs.py" "$work" "$@" >log 2>&1 || {
	cat log
	fail "recording $*"
}
recorded=${WS_TORCH_RECORDED:-shapes}
"$ws" info t.wtrace >facts
equal "what is recorded" "$(sed -n 's/^ *pytorch.operations  *//p' facts)" "$recorded"
"$ws" export t.wtrace -o recording.json >/dev/null
# Inductor's C++ kernels are operations where it is told to say so
[ "$*" != compiled ] || contains recording.json _cpp_fused_
for program; do
	"$python" "$here/compare.py" "$program.json" recording.json "$program" "$recorded" ||
		fail "$program is not as in PyTorch's profile"
done
