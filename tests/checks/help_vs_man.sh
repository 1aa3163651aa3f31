#!/bin/sh
# The options and tables of --help and of the man page are the same, both ways, for every program
# and command; and so are the commands of `warpsheet help` and of warpsheet(1).
#   help_vs_man.sh BIN MAN
set -eu
bin=$1 man=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# "  -o, --output FILE  …", "  -o FILE  …", "      --table NAME …"
help_options() {
	sed -nE 's/^ {2,6}(-[[:alnum:]])?(, )?(--[a-z][a-z-]*)?([ =].*)?$/\1\n\3/p' | grep -- '^-' | sort -u
}

# ".It Fl o , Fl -output Ar FILE"
man_options() {
	sed -nE 's/^\.It (Fl .*)/\1/p' "$1" | tr ' ' '\n' |
		awk 'after { print "-" $0 } { after = $0 == "Fl" }' | sort -u
}

# below "tables:", "  NAME  TITLE"; below ".Sh TABLES", ".It Cm NAME" and "TITLE."
help_tables() {
	sed -nE '/^tables:/,$s/^  ([a-z-]+) +(.*)/\1 \2/p' | sort
}

man_tables() {
	awk '/^\.Sh/ { on = $2 == "TABLES" }
		on && /^\.It Cm/ { name = $3; getline; sub(/\.$/, ""); print name, $0 }' "$1" | sort
}

compare() { # compare WHAT: help in $work/help against man in $work/man
	[ -s "$work/help" ] || {
		echo "$1: no options found in its help"
		bad=1
	}
	diff "$work/help" "$work/man" >"$work/diff" && return
	sed -nE "s/^< (.*)/$1: \1 is in --help, not in the man page/p; \
		s/^> (.*)/$1: \1 is in the man page, not in --help/p" "$work/diff"
	bad=1
}

check() { # check PAGE PROGRAM ARGUMENTS...
	page=$1
	shift
	[ -f "$man/$page.1" ] || {
		echo "no man page $page.1"
		bad=1
		return
	}
	"$@" | help_options >"$work/help"
	man_options "$man/$page.1" >"$work/man"
	compare "$page"
	"$@" | help_tables >"$work/help_tables"
	man_tables "$man/$page.1" >"$work/man_tables"
	diff "$work/help_tables" "$work/man_tables" || {
		echo "$page: the tables of --help (<) and of the man page (>) differ"
		bad=1
	}
}

commands=$("$bin/warpsheet" help | sed -nE 's/^  ([a-z][a-z-]*) +.*/\1/p')
echo "$commands" | sort >"$work/help"
sed -nE 's/^\.It Cm ([a-z-]+).*/\1/p' "$man/warpsheet.1" | sort >"$work/man"
compare warpsheet

for command in $commands; do
	case $command in
	record) ;;       # warpsheet-record below
	help | version) ;; # in warpsheet(1)
	*) check "warpsheet-$command" "$bin/warpsheet" help "$command" ;;
	esac
done
check warpsheet-record "$bin/warpsheet-record" --help
check warpsheet-step "$bin/warpsheet-step" --help

if command -v mandoc >/dev/null; then
	for page in "$man"/*.1; do
		mandoc -T lint -W warning "$page" || bad=1
	done
else
	echo "note: no mandoc; the pages were not checked for mistakes"
fi
exit $bad
