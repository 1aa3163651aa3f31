#!/bin/sh
# Nothing of a test stays behind, whether it ends, crashes or is killed: check_keeper.sh KEEPER
set -u
keeper=$1
work=$(mktemp -d)
bad=0
fail() {
	echo "FAIL: $*"
	bad=1
}

# leaves files in both folders and a program that nobody is the parent of; its pid is in $work/pid
# shellcheck disable=SC2016 # for the shell of the test
untidy='echo "$TMPDIR $WS_TEST_MEMORY" >"$1/folders"; : >"$TMPDIR/f"; mkdir -p "$WS_TEST_MEMORY/d/e"
	(setsid sh -c "echo \$\$ >$1/pid; while :; do sleep 1; done" >/dev/null 2>&1 &)
	until [ -s "$1/pid" ]; do sleep 0.01; done; : >"$1/begun"; '
check_gone() { # check_gone WHAT: for a minute at most
	read -r folder memory <"$work/folders" || fail "$1: did not run"
	tries=0
	while [ -e "$folder" ] || [ -e "$memory" ] || kill -0 "$(cat "$work/pid")" 2>/dev/null; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { fail "$1: $folder, $memory or a program is left"; break; }
		sleep 0.1
	done
	rm -f "$work"/*
}

"$keeper" sh -c "$untidy exit 7" sh "$work"
[ $? = 7 ] || fail "the status of a test is not passed on"
check_gone "a test that ends"
# shellcheck disable=SC2016
"$keeper" sh -c "$untidy"'kill -SEGV $$' sh "$work" 2>/dev/null
[ $? = 139 ] || fail "a signal is not passed on"
check_gone "a test that crashes"
"$keeper" sh -c "$untidy sleep 600" sh "$work" &
pid=$!
until [ -e "$work/begun" ]; do sleep 0.01; done
kill -KILL $pid
wait $pid 2>/dev/null
check_gone "a test whose keeper is killed"
# shellcheck disable=SC2016
sh -c '"$1" sh -c "$2 sleep 600" sh "$3"; :' sh "$keeper" "$untidy" "$work" &
pid=$!
until [ -e "$work/begun" ]; do sleep 0.01; done
kill -KILL $pid
wait $pid 2>/dev/null
check_gone "a test whose ctest is killed"

[ "${LC_ALL-}${COLUMNS-}${POSIXLY_CORRECT-}" = C100 ] || fail "ctest has not read variables.cmake"
# shellcheck disable=SC2016
(umask 077 && "$keeper" sh -c ': >"$1/mode"' sh "$work")
[ "$(stat -c %a "$work/mode")" = 644 ] || fail "files have the caller's mode $(stat -c %a "$work/mode")"
rm -rf "$work"
exit $bad
