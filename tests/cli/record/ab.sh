# two programs by turns, each once before, in a random order
step() { echo warpsheet-step --device cpu --model mlp --batch 1 --steps 2 --warmup 0 "$@"; }
warpsheet record --ab -o runs --repeat 3 -- $(step) --- $(step --phase forward) >verdict 2>words
echo "status $?"
grep -o '^NOT.*phase step and forward' verdict
ls runs
grep -Eo '[ab], (warm-up|repetition [0-9])' words | sort -t ' ' -k 2 -k 1
# what is there is not recorded again; the referee is asked again
warpsheet record --ab -o runs --repeat 3 -- $(step) --- $(step --phase forward) 2>&1 >/dev/null | grep 'recordings made'
# another B is not taken for the first
warpsheet record --ab -o runs --repeat 3 -- $(step) --- $(step) 2>&1 >/dev/null | tail -1
# no times, no verdict
warpsheet record --ab -o none --repeat 1 -- sh -c : --- sh -c : 2>/dev/null | grep '^CANNOT'
# one file has the verdict, and the hash of each trace
warpsheet record --ab --referee -o kept --repeat 1 -- sh -c : --- sh -c : >/dev/null 2>&1
echo "status $?"
python3 -c "
import json
tables = json.load(open('kept/referee.json'))['tables']
print(tables['referee']['rows'][0][0], [len(row[-1]) for row in tables['referee-pairs']['rows']])"
warpsheet record --referee -o x -- sh -c : 2>&1
echo "status $?"
# a program that cannot run ends it, and leaves nothing that the next series would keep
warpsheet record --ab -o bad -- sh -c : --- sh -c 'exit 3' 2>&1 >/dev/null | tail -1
ls bad 2>/dev/null | grep b-
# a pause ends with the series, and so does a run whose series is killed
warpsheet-record --ab --pause 3000 -o paused -- sh -c : --- sh -c : 2>/dev/null &
until [ -d paused ]; do sleep 0.1; done
kill -TERM $!
wait $!
echo "status $?"
# a run that is stopped leaves no trace
warpsheet-record --ab -o stopped -- sh -c 'kill -TERM $(cut -d" " -f4 /proc/$PPID/stat)' --- sh -c : 2>/dev/null
echo "status $?"
ls -A stopped 2>/dev/null | grep wtrace
echo '[ -e go ] || { echo $$ >pid && exec sleep 3000; }' >hangs.sh
warpsheet-record --ab --repeat 1 -o again -- sh hangs.sh --- sh ./hangs.sh 2>/dev/null &
until [ -s pid ]; do sleep 0.1; done
kill -KILL $!
wait $! 2>/dev/null
while kill -0 "$(cat pid)" 2>/dev/null || ls -A again | grep -q part; do sleep 0.1; done
# the next series has all its traces, and the warm-up's is gone
touch go
warpsheet-record --ab --repeat 1 -o again -- sh hangs.sh --- sh ./hangs.sh 2>&1 >/dev/null | tail -1
ls -A again
for option in --pause --time-limit; do
	warpsheet record $option 1 -o x -- sh -c : 2>&1
	echo "status $?"
done
mkdir alone
cp "$(command -v warpsheet-record)" alone
alone/warpsheet-record --ab -o wrong -- sh -c : --- sh -c : 2>&1
echo "status $?"
warpsheet record --ab -o wrong -- $(step) 2>&1
echo "status $?"
warpsheet record --ab -o wrong --model mlp 2>&1
echo "status $?"
