#!/bin/sh
# The tests of a ready build under conditions of other machines, one after the other:
#   matrix.sh BUILD_PRESET [CONDITION...]
# CONDITION: variables locale one-core busy realtime shm path user; all without one. Prints a table
# as Markdown; below it, what failed, and what was left out and why. Ends with 1 when a test failed.
# Path and user have all tests that run/test has, in a copy of the checkout that is built in a path
# with a blank and an umlaut; shm has them, too; the others have the groups that they can reach.
# WS_MATRIX_JOBS=N         tests at a time (2)
# WS_MATRIX_WITHOUT=REGEX  tests that are left out, which is said below the table
# shellcheck disable=SC2317 # the conditions are called by name
set -uf

[ $# -ge 1 ] || {
	sed -n '2,10s/^# \{0,1\}//p' "$0"
	exit 2
}
preset=$1
shift
source=$(cd "$(dirname "$0")/../.." && pwd)
jobs=${WS_MATRIX_JOBS:-2}
work=$(mktemp -d)
chmod 755 "$work"
copy="$work/mein Ordner ü/ws"
spinners=''
stop_spinners() {
	# shellcheck disable=SC2086 # one pid a word
	[ -z "$spinners" ] || kill $spinners 2>/dev/null
	spinners=''
}
trap 'stop_spinners; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
: >"$work/table"
: >"$work/failed"
: >"$work/left_out"

[ -f "$source/build/$preset/tests/CTestTestfile.cmake" ] || {
	echo "matrix.sh: there is no build/$preset; build it first: cmake --preset $preset && cmake --build --preset $preset" >&2
	exit 2
}

left_out() { # left_out CONDITION WHY
	echo "$1: $2" >>"$work/left_out"
	echo "== $1: left out, $2" >&2
}

# What run/test leaves out is left out here, too.
tests() { # tests FOLDER CTEST-OPTION...: of the build in this folder
	folder=$1
	shift
	ctest --test-dir "$folder" -j "$jobs" --timeout 1800 "$@"
}
but="^(at_scale|bench|packaging)[.]${WS_MATRIX_WITHOUT:+|$WS_MATRIX_WITHOUT}"
everything="-LE ^(cuda_host|sitting|gpu|slow)$ -E $but"
reached="-L ^(cli|e2e|house|record)$ -E $but|^cli[.]bounded$"
timed="-L ^(cli|record)$ -E $but|^cli[.]bounded$"
[ -z "${WS_MATRIX_WITHOUT:-}" ] || left_out "everywhere" "tests that are called $WS_MATRIX_WITHOUT"

# count CONDITION WHAT COMMAND...: a row of the table
count() {
	name=$1 what=$2
	shift 2
	echo "== $name" >&2
	"$@" >"$work/log" 2>&1 </dev/null
	passed=$(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' "$work/log")
	skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*(\*\*\*Skipped|\*\*\*Not Run)' "$work/log")
	grep -E '^ *[0-9]+/[0-9]+ Test .*\*\*\*' "$work/log" | grep -vE 'Skipped|Not Run \(Disabled\)' |
		sed "s|^[^:]*: |$name: |" >"$work/these"
	failed=$(wc -l <"$work/these" | tr -d ' ')
	if [ "$passed" = 0 ]; then
		tail -5 "$work/log" >&2
		echo "$name: no test passed" >>"$work/these"
		failed=$((failed + 1))
	fi
	cat "$work/these" >>"$work/failed"
	printf '| %s | %s | %s | %s | %s |\n' "$name" "$what" "$passed" "$failed" "$skipped" |
		tee -a "$work/table" >&2
}

# What an engineer's shell may have set, all of it at once.
variables() {
	mkdir -p "$work/elsewhere"
	(
		umask 077
		unset TERM
		export COLUMNS=40 POSIXLY_CORRECT=1 PYTHONWARNINGS=default PYTHONOPTIMIZE=1 CDPATH=/tmp:/ \
			NVTX_INJECTION64_PATH=/nonexistent.so CUDA_INJECTION64_PATH=/nonexistent.so \
			GREP_COLORS='mt=01;31' NO_COLOR=1 PAGER=false HOME="$work/none/home" \
			WARPSHEET_SEGMENT_DIR=/nonexistent TMPDIR="$work/elsewhere"
		# shellcheck disable=SC2086 # options
		count "variables, TMPDIR elsewhere, no HOME, umask 077" "cli, e2e, house, record" \
			tests "$source/build/$preset" $reached
	)
}

# A language with a decimal comma, made here where the system lets it.
locale() {
	mkdir -p "$work/locale"
	language=de_DE.UTF-8
	localedef --no-archive -i de_DE -f UTF-8 "$work/locale/$language" >/dev/null 2>&1 || {
		left_out "$language" "localedef cannot make it; C.UTF-8 instead"
		language=C.UTF-8
	}
	(
		umask 000
		unset HOME
		export LOCPATH="$work/locale" LANG="$language" LC_ALL="$language" LANGUAGE=de TZ=Asia/Kathmandu
		# shellcheck disable=SC2086 # options
		count "$language, Asia/Kathmandu, HOME unset, umask 000" "cli, e2e, house, record" \
			tests "$source/build/$preset" $reached
	)
}

one_core() {
	core=$(taskset -cp $$ 2>/dev/null | sed 's/.*: *\([0-9]*\).*/\1/')
	[ -n "$core" ] || {
		left_out "one core" "there is no taskset"
		return
	}
	# shellcheck disable=SC2086 # options
	count "one core" "cli, record" taskset -c "$core" \
		ctest --test-dir "$source/build/$preset" -j "$jobs" --timeout 1800 $timed
}

busy() {
	for _ in 1 2 3 4 5 6 7 8; do
		sh -c 'while :; do :; done' &
		spinners="$spinners $!"
	done
	# shellcheck disable=SC2086 # options
	count "eight programs spin" "cli, record" tests "$source/build/$preset" $timed
	stop_spinners
}

realtime() {
	chrt -f 5 true 2>/dev/null || {
		left_out "realtime priority" "this user may not have it (chrt -f 5)"
		return
	}
	# shellcheck disable=SC2086 # options
	count "realtime priority" "cli, record" chrt -f 5 \
		ctest --test-dir "$source/build/$preset" -j "$jobs" --timeout 1800 $timed
}

shm() {
	unshare -m sh -c 'mount -t tmpfs -o size=64m ws_matrix /dev/shm' 2>/dev/null || {
		left_out "/dev/shm of 64 MB" "this user may not mount (unshare -m)"
		return
	}
	# shellcheck disable=SC2016,SC2086 # for the shell in there; options
	count "/dev/shm of 64 MB" "all" unshare -m sh -c '
		mount -t tmpfs -o size=64m ws_matrix /dev/shm
		build=$1 jobs=$2
		shift 2
		ctest --test-dir "$build" -j "$jobs" --timeout 1800 "$@"
		rmdir /dev/shm/warpsheet-* 2>/dev/null # the user'"'"'s folder stays, without segments in it
		ls -A /dev/shm | sed "s/^/1\/1 Test #0: left behind in \/dev\/shm: /; s/$/ ***Failed/"
	' sh "$source/build/$preset" "$jobs" $everything
}

# The checkout with what is not committed, built in a path with a blank and an umlaut, once.
make_copy() {
	[ ! -d "$copy" ] || return 0
	echo "== a copy of the checkout is built in $copy" >&2
	mkdir -p "$copy"
	git -C "$source" ls-files -z --cached --others --exclude-standard |
		(cd "$source" && tar -cf - --null -T - --ignore-failed-read 2>/dev/null) | tar -C "$copy" -xf - || return 1
	[ ! -d "$source/../shared" ] || ln -s "$(cd "$source/../shared" && pwd)" "$copy/../shared"
	# what differs in the path alone is found in the cache
	export CCACHE_BASEDIR="$copy" CCACHE_NOHASHDIR=1
	(cd "$copy" && cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs") >"$work/build" 2>&1 || {
		tail -20 "$work/build" >&2
		rm -rf "$copy"
		return 1
	}
}

path() {
	make_copy || {
		echo "path: the copy cannot be built" | tee -a "$work/failed" >&2
		return
	}
	# shellcheck disable=SC2086 # options
	count "a path with a blank and an umlaut" "all" tests "$copy/build/$preset" $everything
}

# A tree that root has configured, tested by somebody who is not, without /usr/sbin.
user() {
	[ "$(id -u)" = 0 ] || {
		left_out "a normal user" "this is one: all the others are that"
		return
	}
	make_copy || {
		echo "user: the copy cannot be built" | tee -a "$work/failed" >&2
		return
	}
	mkdir -p "$copy/build/$preset/Testing/Temporary"
	chmod -R a+rwX "$copy/build/$preset/Testing"
	# shellcheck disable=SC2086 # options
	count "a normal user, no /usr/sbin" "all" setpriv --reuid=65534 --regid=65534 --clear-groups \
		env HOME=/nonexistent PATH=/usr/local/bin:/usr/bin:/bin \
		ctest --test-dir "$copy/build/$preset" -j "$jobs" --timeout 1800 $everything
}

[ $# -gt 0 ] || set -- variables locale one-core busy realtime shm path user
for condition in "$@"; do
	case $condition in
	variables | locale | busy | realtime | shm | path | user) $condition ;;
	one-core) one_core ;;
	*)
		echo "matrix.sh: there is no condition '$condition'" >&2
		exit 2
		;;
	esac
done
printf '| condition | tests | passed | failed | skipped |\n|---|---|---:|---:|---:|\n'
cat "$work/table"
[ ! -s "$work/left_out" ] || sed '1s/^/\nLeft out:\n/' "$work/left_out"
[ -s "$work/failed" ] || exit 0
sed '1s/^/\nFailed:\n/' "$work/failed"
exit 1
