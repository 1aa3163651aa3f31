#!/bin/sh
# Windows' own: names outside ASCII, \ between names, a folder that is replaced, where recording belongs: windows.sh PROGRAM SOURCE
set -eu
program=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
	echo "FAIL: $*" >&2
	exit 1
}
cd "$work"
mkdir 'ü größe' out
cp "$source/fixtures/traces/step-fp32.wtrace" 'ü größe/mått.wtrace'
"$program" info 'ü größe\mått.wtrace' >words || fail "a name outside ASCII"
head -n 1 words | grep -q 'mått' || fail "a name outside ASCII is shown as $(head -n 1 words)"
"$program" report 'ü größe\mått.wtrace' -o 'out\bericht ä.md'
[ -f 'out/bericht ä.md' ] || fail "a report in a folder: $(ls . out)"
title=$("$program" report 'ü größe\mått.wtrace' | head -n 1)
[ "$title" = mått ] || fail "the title is $title"
"$program" export 'ü größe\mått.wtrace' --format parquet -o "out\\tables\\"
[ -f out/tables/kernels.parquet ] || fail "a folder of tables: $(find out)"
! "$program" record -- true 2>words || fail "it records"
grep -q 'recording is done on Linux' words || fail "record says $(cat words)"
"$program" report 'ü größe\mått.wtrace' --color always >words
grep -q "$(printf '\033\[')" words || fail "no colours when they are asked for"
