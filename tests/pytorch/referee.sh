#!/bin/sh
# What the referee says of programs that only look faster, and of honest ones: referee.sh BIN. Times of this machine decide
# nothing: one pair is too few for them.
set -eu
# shellcheck source=tests/pytorch/common.sh
. "$(dirname "$0")/common.sh"
WARPSHEET_PYTHON=$(cd "$here/../../packaging/python" && pwd)
export WARPSHEET_PYTHON

recorded() { # recorded WAY: into WAY.wtrace
	"$ws" record --pytorch -o "$1.wtrace" -- "$python" "$here/referee.py" "$1" >log 2>&1 || { cat log; fail "recording $1"; }
}

judged() { # judged WAY VERDICT REASONS
	recorded "$1"
	mkdir "$1"
	cp honest.wtrace "$1/a-r1.wtrace"
	mv "$1.wtrace" "$1/b-r1.wtrace"
	"$ws" referee "$1" --table referee-reasons --format csv >reasons.csv || true
	"$ws" referee "$1" --table referee --format csv >verdict.csv || true
	equal "the verdict of $1" "$(sed -n '2s/,.*//p' verdict.csv)" "$2"
	equal "the reasons of $1" "$(sed '1d;s/,.*//' reasons.csv | grep -v -e 'cost of recording' -e 'fused or left out' | paste -sd ,)" "$3"
}

recorded honest
judged layers "NOT THE SAME WORK" "other work"
judged batch "NOT THE SAME WORK" "other work"
judged precision "NOT THE SAME WORK" "lower precision"
judged cached "NOT THE SAME WORK" "other work,cached results"
judged start "NOT THE SAME WORK" "other work,work at start-up"
judged behind "NOT THE SAME WORK" "other work,work outside of steps"
judged nothing "NOT THE SAME WORK" "other work"
judged claim IMPOSSIBLE "claimed time"
judged order "CANNOT TELL" ""
judged tuned "CANNOT TELL" ""
# other cheats
judged warm-up "NOT THE SAME WORK" "other work,work at start-up"
judged thread "NOT THE SAME WORK" "other work,work outside of steps"
judged narrow "NOT THE SAME WORK" "other work"
judged process "CANNOT TELL" "work not recorded"
judged meta "CANNOT TELL" "unknown sizes"
# the same work in another way
judged buffers "CANNOT TELL" ""
judged split "CANNOT TELL" "other calls"
judged einsum "CANNOT TELL" "other calls"
judged numpy "CANNOT TELL" "work not recorded"
