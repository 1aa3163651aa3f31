#!/bin/sh
# The parts of docs/man that say what --help says, anew: what a command does, commands, options, tables.
#   man.sh BIN MAN          writes the pages; man.sh BIN MAN --check   says which differ, writes none
# Of an option the page has what its table says and then, below `.\" more`, what people wrote.
set -eu
bin=$1 man=$2 check=${3:-}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

"$bin/warpsheet" help | awk '
	/^commands:/ { on = 1; next }
	!/^  / { on = 0 }
	on { text = $0; sub(/^ +[^ ]+ +/, "", text); print $1 "\t\t@command\t" $1 "\t" text }' >"$work/commands"

page() { # page NAME COMMAND PROGRAM ARGUMENTS..., which print its help
	name=$1 command=$2
	shift 2
	"$@" >"$work/help"
	awk -f "$here/options.awk" -v command="$command" "$work/help" | cat "$work/commands" - >"$work/list"
	[ -f "$man/$name.1" ] || {
		echo "no man page $man/$name.1" >&2
		exit 1
	}
	awk -F'\t' -v command="$command" -f "$here/man.awk" "$work/list" "$man/$name.1" >"$work/page"
	cmp -s "$work/page" "$man/$name.1" && return
	if [ -z "$check" ]; then
		cp "$work/page" "$man/$name.1"
	else
		diff -u "$man/$name.1" "$work/page" || true
		echo "$name.1 is not as --help: run/update docs" >&2
		bad=1
	fi
}
page warpsheet - "$bin/warpsheet" help
commands=$(cut -f1 "$work/commands")
for command in $commands; do
	case $command in
	record | help | version | tables) ;; # the first below; the others in warpsheet(1)
	*) page "warpsheet-$command" "$command" "$bin/warpsheet" "$command" --help ;;
	esac
done
page warpsheet-record record "$bin/warpsheet-record" --help
page warpsheet-step step "$bin/warpsheet-step" --help
if [ -n "$check" ] && command -v mandoc >/dev/null; then
	for name in "$man"/*.1; do
		mandoc -T lint -W warning "$name" || bad=1
		mandoc -T ascii -O width=78 "$name" | sed 's/.\x08//g' | grep -E '.{80}' && {
			echo "$name: over 79 columns" >&2
			bad=1
		}
	done
elif [ -n "$check" ]; then
	echo "note: no mandoc; the pages were not checked for mistakes"
fi
exit $bad
