#!/bin/sh
# The golden cases of tests/cli on the program of a target: golden.sh TARGET BIN SOURCE. Those that cannot
# be the same there stand in differs.txt, with why; any other that fails is a failure, and so is one of
# these that passes. Prints how many passed.
set -u
target=$1 bin=$2 source=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$source" || exit 1
find tests/cli -name '*.sh' ! -path 'tests/cli/run.sh' ! -path 'tests/cli/record/*' ! -path 'tests/cli/cuda/*' \
	! -path 'tests/cli/step/*' | sort >"$work/cases"
# shellcheck disable=SC2046 # a list of words
sh tests/cli/run.sh "$bin" fixtures $(cat "$work/cases") >"$work/log" 2>&1
failed_in() { # failed_in LOG
	sed -n -e 's/^FAIL tests.cli.\(.*\)\.sh$/\1/p' -e 's/^-- tests.cli.\(.*\)\.sh crashes.*/\1/p' "$1" | sort
}
failed_in "$work/log" >"$work/failed"
awk -v target="$target" '!/^#/ && NF { n = split($1, of, ","); for (i = 1; i <= n; i++) if (of[i] == target) print $2 }' \
	"$here/differs.txt" | sort >"$work/expected"
# wine loses the connection to its server now and then, and says so on standard error: such a case runs again
if [ "$target" = win_amd64 ] && grep -q 'wine client error\|^Binary files' "$work/log"; then
	comm -13 "$work/expected" "$work/failed" >"$work/again"
	# shellcheck disable=SC2046 # a list of words
	[ ! -s "$work/again" ] || sh tests/cli/run.sh "$bin" fixtures $(sed 's|.*|tests/cli/&.sh|' "$work/again") >"$work/second" 2>&1
	sed 's/^/win_amd64: ran again: /' "$work/again"
	{
		comm -12 "$work/expected" "$work/failed"
		[ ! -s "$work/again" ] || failed_in "$work/second"
	} | sort >"$work/both"
	mv "$work/both" "$work/failed"
fi
ran=$(wc -l <"$work/cases")
echo "$target: $((ran - $(wc -l <"$work/failed"))) of $ran golden cases pass, $(wc -l <"$work/expected") differ by nature"
diff "$work/expected" "$work/failed" >"$work/diff" && exit 0
cat "$work/log"
sed -n -e "s/^</$target: passes, and differs.txt says that it cannot:/p" -e "s/^>/$target: fails:/p" "$work/diff"
exit 1
