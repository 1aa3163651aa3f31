#!/bin/sh
# Work of some seconds: a terminal sees how far it is, a file does not; whoever
# kills it in the middle finds nothing half under the name that was asked for,
# and what was there before.
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
tests=$(cd "$(dirname "$0")/.." && pwd)
cd "$work"

python3 "$tests/bench/make_big_json.py" "$tests/../fixtures/imports/alexnet-a100.json.gz" 1200 big.json
"$ws" import big.json -o big.wtrace >import.txt

# Kill a command as soon as its temporary file has more than that: kill_writer SIGNAL SIZE NAME ARGS...
kill_writer() {
	signal=$1 size=$2 name=$3
	shift 3
	"$ws" "$@" >out.txt 2>&1 &
	pid=$!
	tries=0
	while [ -z "$(find . -path "*/.*.????????" -size +"$size")" ]; do
		tries=$((tries + 1))
		if [ $tries -eq 2000 ] || ! kill -0 $pid 2>/dev/null; then
			fail "$name: never seen at work: $(cat out.txt)"
		fi
		sleep 0.01
	done
	kill -"$signal" $pid
	status=0
	wait $pid 2>/dev/null || status=$?
	equal "$name: the exit status" "$status" $((128 + signal))
	[ "$signal" -ne 9 ] || find . -path "*/.*.????????" -exec rm {} +
}

for name in t.sqlite t.json t.json.gz; do
	echo before >$name
	kill_writer 9 64k $name export big.wtrace -o $name
	equal "$name after the kill" "$(cat "$name")" before
done
kill_writer 9 64k t.parquet export big.wtrace -o t.parquet
equal "files in t.parquet after the kill" "$(find t.parquet -type f)" ""
kill_writer 9 0 t.wtrace import big.json -o t.wtrace
[ ! -e t.wtrace ] || fail "t.wtrace is there after the kill"

# Who is asked to stop removes the temporary file, too.
for name in t.sqlite t.json t.parquet; do
	kill_writer 15 64k $name export big.wtrace -o $name
done
equal "temporary files" "$(find . -path "*/.*.????????")" ""

# Words about progress go to a terminal alone, and the line is cleared at the end.
"$ws" export big.wtrace -o t.json.gz 2>words.txt
equal "words into a file" "$(cat words.txt)" ""
python3 - "$ws" export big.wtrace -o t.json.gz >screen.txt <<'PY'
import os, pty, re, sys

screen = b""


def read(fd):
    global screen
    data = os.read(fd, 1024)
    screen += data
    return data


status = pty.spawn(sys.argv[1:], read)
percents = [int(p) for p in re.findall(rb"t\.json\.gz: (\d+) %", screen)]
if status or not percents or percents != sorted(percents) or max(percents) > 100:
    sys.exit(f"exit {status}, percents {percents}")
if not screen.endswith(b"\r\x1b[K"):
    sys.exit(f"the line is not cleared: {screen!r}")
PY
