#!/bin/sh
# Lines of programs that called operations, as PyTorch's profiler has them with_stack=True and as the recorder has
# them, both of one run: 0 differences. lines.sh BIN PROGRAM…
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

shift
WS_TORCH_STACK=20 "$ws" record --pytorch=full -o t.wtrace -- "$python" "$here/programs.py" "$work" "$@" >log 2>&1 || {
	cat log
	fail "recording $*"
}
"$ws" info t.wtrace >facts
equal "what is recorded" "$(sed -n 's/^ *pytorch.source  *//p' facts)" lines
"$ws" export t.wtrace -o recording.json >/dev/null
for program; do
	"$python" "$here/lines.py" "$program.lines" recording.json "$program" || fail "lines of $program are not PyTorch's"
done

"$ws" record --pytorch=names,nosource -o none.wtrace -- "$python" small.py >log 2>&1
"$ws" info none.wtrace >facts
equal "what is recorded without lines" "$(sed -n 's/^ *pytorch.source  *//p' facts)" off
equal "lines" "$("$ws" query none.wtrace 'SELECT count(*) AS n FROM cpu_op_record WHERE source IS NOT NULL' --scope all --format csv | tail -1 | tr -d '\r')" 0
