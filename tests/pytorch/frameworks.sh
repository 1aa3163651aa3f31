#!/bin/sh
# Steps of programs of Hugging Face, Lightning, timm and diffusers, where pip has them: frameworks.sh BIN.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"

missing=
for program in trainer generate lightning accelerate timm diffusers; do
	status=0
	"$ws" record --pytorch -o $program.wtrace -- "$python" "$here/frameworks.py" $program >$program.log 2>&1 || status=$?
	if [ $status = 77 ]; then
		missing="$missing $program"
		continue
	fi
	[ $status = 0 ] || { cat $program.log; fail "recording $program"; }
	equal "$program" "$(found_steps $program.wtrace)" "$(grep '^steps' $program.log)"
done
if [ "$missing" ]; then
	echo "SKIP: not installed beside $python:$missing (transformers, lightning, accelerate, timm, diffusers)"
	exit 77
fi
