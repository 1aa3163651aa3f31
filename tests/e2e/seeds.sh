#!/bin/sh
# Every report and diff that docs/dev/seeds.md tells people to run, on the smallest
# models: each works and has rows.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$work"
ln -s "$root/fixtures" fixtures

record() { # record FILE OPTIONS…
	file=$1
	shift
	"$ws" record "$@" --phase step --warmup 1 --steps 3 --device cpu -o "$file" 2>words.txt ||
		fail "record $*: $(cat words.txt)"
}
record T.wtrace --model transformer-tiny
record CNN.wtrace --model lenet5 --batch 2
cp T.wtrace FP32.wtrace
record AMP.wtrace --model transformer-tiny --dtype amp-bf16

warpsheet() {
	"$ws" "$@"
}
# shellcheck disable=SC2016 # no command to be expanded
sed -n '/^```/,/^```/s/ *#.*//; /^warpsheet report /p; /^warpsheet diff /p' "$root/docs/dev/seeds.md" >commands.txt
equal "number of commands in docs/dev/seeds.md" "$(wc -l <commands.txt | tr -d ' ')" 23
while read -r line; do
	eval "$line" >out.txt 2>words.txt || fail "$line: $(cat words.txt)"
	case $line in
	*"T.wtrace --table advice") contains out.txt "Not judged: Unaligned matrix sizes (A3)" ;; # by the CPU reference
	*--table*)
		eval "$line --format csv" >out.csv 2>words.txt || fail "$line: $(cat words.txt)"
		[ "$(wc -l <out.csv)" -gt 1 ] || fail "$line has no rows"
		;;
	*) contains out.txt "matched work" ;;
	esac
done <commands.txt
echo "$(wc -l <commands.txt) commands"
