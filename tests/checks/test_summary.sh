#!/bin/sh
# What run/test shows of a build and of tests, with made-up ones: test_summary.sh SOURCE
set -u
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# --- run/summary.py ---
cat >"$work/junit.xml" <<'E'
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="10" time="132">
	<testcase name="a.passes" status="run"><system-out>fine&#10;processor time: 2.40 s&#10;</system-out></testcase>
	<testcase name="a.in_part" status="run"><system-out>SKIP: no zsh</system-out></testcase>
	<testcase name="a.fails" status="fail"><failure message=""/><system-out>[NON-XML-CHAR-0x1B][31mred[NON-XML-CHAR-0x1B][0m &lt;&amp;&gt;</system-out></testcase>
	<testcase name="a.hangs" status="fail"><failure message=""/><system-out>begun</system-out></testcase>
	<testcase name="a.gone" status="notrun"><skipped message="Unable to find executable"/><system-out>Unable to find executable: /no/such</system-out></testcase>
	<testcase name="b.skips" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>SKIP: no headers of NVTX</system-out></testcase>
	<testcase name="b.unit" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>[[NON-XML-CHAR-0x1B][33mSKIP[NON-XML-CHAR-0x1B][0m] unit::abi: no headers of NVTX</system-out></testcase>
	<testcase name="b.gpu" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>begun&#10;no driver&#10;processor time: 0.70 s&#10;</system-out></testcase>
	<testcase name="b.silent" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out></system-out></testcase>
	<testcase name="b.off" status="disabled"><system-out>Disabled</system-out></testcase>
</testsuite>
E
cat >"$work/ctest.log" <<'E'
1/8 Test  #1: a.passes .........................   Passed    0.10 sec
2/8 Test  #2: a.in_part ........................   Passed    0.10 sec
3/8 Test  #3: a.fails ..........................***Failed    0.10 sec
4/8 Test  #4: a.hangs ..........................***Timeout   9.00 sec
5/8 Test  #5: a.gone ...........................***Not Run   0.00 sec
6/8 Test  #6: b.skips ..........................***Skipped   0.10 sec
7/8 Test  #7: b.unit ...........................***Skipped   0.10 sec
8/8 Test  #8: b.off ............................***Not Run (Disabled)   0.00 sec
E
cat >"$work/expected" <<E

== a.fails: failed
   red <&>

== a.hangs: timeout
   begun

== a.gone: not run
   Unable to find executable: /no/such

== skipped
   no headers of NVTX: b.skips, b.unit
   no driver: b.gpu
   no reason is given: b.silent
   Disabled: b.off

== passed, but left out a part
   no zsh: a.in_part

== processor time: 3 s
   a.passes 2, b.gpu 1, a.in_part 0, a.fails 0, a.hangs 0

== failed; all that tests printed: $work/ctest.log
   a.fails (failed): run/test -R '^a\.fails\$'
   a.hangs (timeout): run/test -R '^a\.hangs\$'
   a.gone (not run): run/test -R '^a\.gone\$'

Tests: 2 passed, 3 failed, 5 skipped in 132 s; again: run/test --rerun-failed
2 passed, 3 failed, 5 skipped
E
# summary STATUS RESULTS: it ends so
summary() {
	status=0
	python3 run/summary.py "$2" "$work/ctest.log" run/test >"$work/said" || status=$?
	[ $status = "$1" ] || {
		echo "summary.py $2: exit status $status, not $1"
		failed=1
	}
}
summary 1 "$work/junit.xml"
diff -u "$work/expected" "$work/said" || failed=1
grep -v 'a[.]fails\|a[.]hangs\|a[.]gone\|b[.]' "$work/junit.xml" >"$work/green.xml"
summary 0 "$work/green.xml"
tail -n 1 "$work/said" | grep -qx '2 passed, 0 failed, 0 skipped' || failed=1
summary 1 "$work/none.xml"
grep -v testcase "$work/junit.xml" >"$work/empty.xml"
summary 1 "$work/empty.xml"

# several runs: what one skips another may pass, and what one passes another may fail
all() { # all STATUS FILE...: of these results
	expected=$1
	shift
	rm -rf "$work/all"
	mkdir "$work/all"
	[ $# = 0 ] || cp "$@" "$work/all"
	status=0
	python3 run/summary.py --all "$work/all" >"$work/said" || status=$?
	[ $status = "$expected" ] || {
		echo "summary.py --all: exit status $status, not $expected"
		failed=1
	}
}
sed -n '1,2p; s/status="notrun"><skipped.*<system-out>.*<.system-out>/status="run">/; /b[.]gpu\|b[.]unit/p; $p' "$work/junit.xml" >"$work/other.xml"
grep -v 'a[.]fails\|a[.]hangs\|a[.]gone' "$work/junit.xml" >"$work/skips.xml"
printf '%s\n' '' '== skipped in all of it' '   no headers of NVTX: b.skips' '   no reason is given: b.silent' \
	'   Disabled: b.off' '' '== passed, but left out a part' '   no zsh: a.in_part' '' \
	'4 passed, 0 failed, 3 skipped' >"$work/expected"
all 0 "$work/skips.xml" "$work/other.xml"
diff -u "$work/expected" "$work/said" || failed=1
sed 's/name="a.fails" status="fail"/name="a.fails" status="run"/' "$work/junit.xml" >"$work/passes.xml"
all 1 "$work/junit.xml" "$work/passes.xml"
tail -n 1 "$work/said" | grep -qx '2 passed, 3 failed, 5 skipped' || failed=1
all 1

# --- counted, of run/steps.sh ---
# counts STATUS COMMAND...: it ends so; its lines are in the log, what is shown in $work/said
counts() {
	expected=$1
	shift
	status=0
	# shellcheck disable=SC2016 # for the shell in there
	sh -euc '. run/steps.sh; log=$1; shift; counted "$log" "$@"' sh "$work/log" "$@" 2>"$work/said" || status=$?
	[ $status = "$expected" ] || {
		echo "counted: exit status $status, not $expected"
		failed=1
	}
	sed -i 's/, [0-9]* s$/, N s/' "$work/said"
}
counts 0 cat "$work/ctest.log"
cmp "$work/ctest.log" "$work/log" || failed=1
printf '   failed: %s\n' a.fails a.hangs a.gone >"$work/expected"
grep 'failed' "$work/said" | diff -u "$work/expected" - || failed=1
tail -n 1 "$work/said" | grep -qx '   8/8, N s' || failed=1
counts 3 sh -c 'echo "[1/2] Building C object x"; echo "FAILED: y"; echo "== exit status 0"; exit 3'
printf '%s\n' '[1/2] Building C object x' 'FAILED: y' | cmp - "$work/log" || failed=1
grep -qx '   1/2, N s' "$work/said" || failed=1
exit $failed
