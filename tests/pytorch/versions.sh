#!/bin/sh
# Two versions of PyTorch on one machine: a recording of each, and one recording of both, each of whose
# processes finds its own. The second Python: $WARPSHEET_TEST_TORCH_OTHER. versions.sh BIN
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

other=${WARPSHEET_TEST_TORCH_OTHER:-}
if [ -z "$other" ] || ! "$other" -c 'import torch' 2>/dev/null; then
	echo "SKIP: no second Python with PyTorch (WARPSHEET_TEST_TORCH_OTHER)"
	exit 77
fi
"$ws" record --pytorch -o one.wtrace -- "$python" small.py >log 2>&1 || fail "$(cat log)"
"$ws" record --pytorch -o other.wtrace -- "$other" small.py >>log 2>&1 || fail "$(cat log)"
[ "$(grep -o 'PyTorch [0-9].*' log | sort -u | wc -l)" = 2 ] || fail "one version twice: $(cat log)"
# shellcheck disable=SC2016 # for that shell; both live at once
"$ws" record --pytorch -o both.%p.wtrace -- sh -c '"$1" small.py & "$2" small.py; wait' sh "$python" "$other" >log 2>&1 ||
	fail "$(cat log)"
set -- both.*.wtrace
equal "recorded processes" $# 2
for trace in one.wtrace other.wtrace "$@"; do
	is_small "$trace"
done
