# docs/tutorial.md, as it stands: every command in an empty folder, and what the page says of its output.
set -eu
. "$(dirname "$0")/common.sh"
page=$(cd "$(dirname "$0")/../.." && pwd)/docs/tutorial.md

cd "$work"
PATH=$(dirname "$ws"):$PATH
export PATH
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page" >commands
[ "$(wc -l <commands)" -ge 9 ] || fail "only $(wc -l <commands) commands on the page"
n=0
while read -r command; do
	n=$((n + 1))
	sh -c "$command" >"out$n" 2>"err$n" </dev/null || { cat "err$n"; fail "$command"; }
done <commands
contains out2 'detect 2 %'
contains out3 'matched work'
contains out3 'overall'
contains out3 'amp-bf16'
contains out4 'Where the step goes'
[ -s verdict.xlsx ] || fail "no workbook"
[ "$(wc -c <comment.md)" -lt 65536 ] || fail "the comment is too long for a pull request"
contains gate.txt 'take the same time'
