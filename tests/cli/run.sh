#!/bin/sh
# Golden tests of the programs: tests/cli/run.sh [--update] BIN FIXTURES CASE.sh...
#
# Each case is a script that runs in an empty folder; `fixtures` in it is the
# folder of the fixtures, and the programs of BIN are in PATH. Beside CASE.sh lie
#   CASE.stdout.exact or CASE.stdout.glob   what it prints; absent: nothing
#   CASE.stderr.exact or CASE.stderr.glob   the same for words
#   CASE.exit                               its exit status; absent: 0
# In a .glob file * and ? stand for any characters of a line, a line "..." for
# any lines. --update writes what came out: .glob files stay as they are, look
# at `git diff` before you commit.
set -u
# shellcheck source=tests/environment/variables.sh
. "$(dirname "$0")/../environment/variables.sh"

update=0
if [ "${1:-}" = --update ]; then
	update=1
	shift
fi
bin=$(cd "$1" && pwd) fixtures=$(cd "$2" && pwd)
shift 2

# nothing that others leave in shared places is seen, and nothing of ours is left there
work=$(mktemp -d)
mkdir -m 700 "$work/segments" "$work/tmp"
trap 'rm -rf "$work"' EXIT

export HOME="$work" PATH="$bin:$PATH" TMPDIR="$work/tmp"
export WARPSHEET_SEGMENT_DIR="$work/segments"

glob_matches() { # glob_matches PATTERN-FILE OUTPUT-FILE
	awk '
	function regex(glob,  out, i, c) {
		out = ""
		for (i = 1; i <= length(glob); i++) {
			c = substr(glob, i, 1)
			if (c == "*") out = out ".*"
			else if (c == "?") out = out "."
			else if (c ~ /[A-Za-z0-9 _]/) out = out c
			else out = out "[" (c == "^" ? "\\^" : c == "\\" ? "\\\\" : c == "]" ? "\\]" : c) "]"
		}
		return "^" out "$"
	}
	FNR == NR { pattern[++np] = $0; next }
	{ line[++nl] = $0 }
	END {
		l = 1; skipping = 0
		for (p = 1; p <= np; p++) {
			if (pattern[p] == "...") { skipping = 1; continue }
			r = regex(pattern[p])
			while (skipping && l <= nl && line[l] !~ r) l++
			if (l > nl || line[l] !~ r) exit 1
			l++; skipping = 0
		}
		exit !(skipping || l == nl + 1)
	}' "$1" "$2"
}

compare() { # compare BASE stdout|stderr
	base=$1 what=$2 got=$work/$2
	if [ -f "$base.$what.glob" ]; then
		glob_matches "$base.$what.glob" "$got" && return 0
		echo "-- $what does not match $base.$what.glob:"
		cat "$got"
		return 1
	fi
	if [ $update = 1 ]; then
		if [ -s "$got" ]; then cp "$got" "$base.$what.exact"; else rm -f "$base.$what.exact"; fi
		return 0
	fi
	want=$base.$what.exact
	[ -f "$want" ] || want=/dev/null
	cmp -s "$want" "$got" && return 0
	echo "-- $what:"
	diff -u "$want" "$got"
	return 1
}

failed=0
ran=0
for case in "$@"; do
	base=${case%.sh}
	script=$(cd "$(dirname "$case")" && pwd)/$(basename "$case")
	rm -rf "$work/dir"
	mkdir "$work/dir"
	ln -s "$fixtures" "$work/dir/fixtures"
	(cd "$work/dir" && sh -u "$script") >"$work/stdout" 2>"$work/stderr" </dev/null
	status=$?
	ok=1
	# a crash is never what a program should do
	if [ $status -ge 128 ] || grep -q '^Segmentation fault' "$work/stderr"; then
		echo "-- $case crashes: exit status $status"
		failed=$((failed + 1)) ran=$((ran + 1))
		continue
	fi
	compare "$base" stdout || ok=0
	compare "$base" stderr || ok=0
	want=0
	[ -f "$base.exit" ] && want=$(cat "$base.exit")
	if [ $update = 1 ]; then
		if [ $status = 0 ]; then rm -f "$base.exit"; else echo $status >"$base.exit"; fi
	elif [ "$want" != $status ]; then
		echo "-- exit status $status, not $want"
		ok=0
	fi
	ran=$((ran + 1))
	if [ $ok = 0 ]; then
		echo "FAIL $case"
		failed=$((failed + 1))
	fi
done
echo "$ran cases, $failed failed"
[ $ran -gt 0 ] && [ $failed = 0 ]
