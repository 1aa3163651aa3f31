#!/bin/sh
# Two processes of one model (gloo): each rank's operations as its own profile has them. ddp.sh BIN.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

if ! "$python" -c 'import torch.distributed as d; exit(not d.is_available())' 2>/dev/null; then
	echo "SKIP: no PyTorch with torch.distributed in $python"
	exit 77
fi
"$ws" record --pytorch -o 'rank%q{RANK}.wtrace' -- "$python" -m torch.distributed.run --standalone \
	--nproc-per-node 2 "$here/programs.py" "$work" ddp >log 2>&1 || {
	cat log
	fail "recording two ranks"
}
for rank in 0 1; do
	"$ws" export rank$rank.wtrace -o rank$rank.json >/dev/null
	"$python" "$here/compare.py" ddp$rank.json rank$rank.json ddp || fail "rank $rank is not as in PyTorch's profile"
done
