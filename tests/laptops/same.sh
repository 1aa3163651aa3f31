#!/bin/sh
# Are the outputs of a target those of the native program, byte for byte: same.sh TARGET NATIVE OTHER (folders of outputs.sh)
set -u
cd "$2" || exit 1
all=$(find . -type f | wc -l)
[ "$all" -gt 90 ] || {
	echo "$1: $all outputs are too few"
	exit 1
}
differ=$(find . -type f | sort | while read -r f; do cmp -s "$f" "$3/$f" || echo "$f"; done)
more=$(cd "$3" && find . -type f | sort | while read -r f; do [ -e "$2/$f" ] || echo "$f"; done)
# shellcheck disable=SC2086 # lists of words
set -- "$1" "$2" "$3" $differ $more
echo "$1: $((all - $# + 3)) of $all outputs are the same"
[ $# -eq 3 ] && exit 0
shift 3
printf '  %s\n' "$@"
exit 1
