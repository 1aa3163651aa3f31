#!/bin/sh
# Instructions a launch of the hot paths, under callgrind, against what they were:
#   count_instructions.sh SOURCE BINARY [--update]
# Counts do not depend on what else the machine does. Of two sizes the difference is taken, so that
# starting up does not count; `start` is that alone, `encode` what the launcher does with rows. More than a tenth above instructions.txt fails; less is news, too.
# Exit status 77, which CTest shows as skipped, without valgrind.
set -eu

# valgrind counts each byte of rep stosb and rep movsb, which processors do 32 and more at a time
export GLIBC_TUNABLES=glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000

source=$1 binary=$2 update=${3:-}
expected=$source/tests/bench/instructions.txt
small=20000 large=60000

if ! command -v valgrind >/dev/null; then
	echo "skipped: there is no valgrind"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for n in $small $large; do
	"$binary/tests/bench_trace" "$n" "$work/$n.wtrace" | sed -n 's/ launches,.*//p' >"$work/$n.launches"
done

command_of() { # command_of SIZE WHAT: the command that a name stands for
	case $2 in
	start) echo "$binary/bin/warpsheet info $work/$1.wtrace" ;;
	encode) echo "--toggle-collect=ws_trace_writer_add --toggle-collect=ws_trace_writer_close
		$binary/tests/bench_trace $1 $work/again.wtrace" ;;
	sweep) echo "$binary/bin/warpsheet sweep $work/$1.wtrace --table sweep --format csv" ;;
	*) echo "$binary/bin/warpsheet report $work/$1.wtrace --format csv" ;;
	esac
}

count() { # count SIZE WHAT OPTION...: instructions of it
	command=$(command_of "$1" "$2")
	shift 2
	# shellcheck disable=SC2086 # it is words
	valgrind --tool=callgrind --callgrind-out-file=/dev/null $command "$@" 2>&1 >/dev/null |
		sed -n 's/.*Collected : //p'
}

rc=0
: >"$work/found"
while read -r name was options; do
	if [ "$name" = start ]; then
		now=$(count $small start) of=start
	else
		# shellcheck disable=SC2086 # options are words
		more=$(($(count $large "$name" $options) - $(count $small "$name" $options)))
		now=$((more / ($(cat "$work/$large.launches") - $(cat "$work/$small.launches"))))
		of=launch
	fi
	echo "$name $now${options:+ $options}" >>"$work/found"
	echo "$name: $now instructions a $of, were $was"
	if [ $((now * 10)) -gt $((was * 11)) ]; then
		echo "  that is more than a tenth above; look, or run this with --update"
		rc=1
	elif [ $((now * 10)) -lt $((was * 9)) ]; then
		echo "  better by more than a tenth: keep it with --update"
	fi
done <"$expected"
if [ "$update" = --update ]; then
	cp "$work/found" "$expected"
	rc=0
fi
exit $rc
