#!/bin/sh
# Programs of Hugging Face, Lightning, timm and diffusers, where pip has them: their steps, and the same tables whether each
# step's operations are recorded or not. frameworks.sh BIN
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

missing=
for program in trainer generate lightning accelerate timm diffusers diffusion; do
	for how in shapes full; do
		status=0
		trace=$program.$how.wtrace
		"$ws" record --pytorch=$how -o $trace -- "$python" "$here/frameworks.py" $program >$program.log 2>&1 || status=$?
		if [ $status = 77 ]; then
			missing="$missing $program"
			continue 2
		fi
		[ $status = 0 ] || { cat $program.log; fail "recording $program"; }
		equal "$trace" "$(found_steps $trace)" "$(grep '^steps' $program.log)"
	done
	# accelerate, and the Trainer with it, loads a batch ahead: the last step loads none, which no mark shows
	tables=ranges,softmax-matmul,roofline
	case $program in
	trainer | accelerate) ;;
	*) tables=ops,$tables ;;
	esac
	"$python" "$here/same_tables.py" "$ws" $tables $program >out 2>&1 || fail "$(cat out)"
done
if [ "$missing" ]; then
	echo "SKIP: not installed beside $python:$missing (transformers, lightning, accelerate, timm, diffusers)"
	exit 77
fi
