# two programs by turns, each once before, in a random order
step() { echo warpsheet-step --device cpu --model mlp --batch 1 --steps 2 --warmup 0 "$@"; }
warpsheet record --ab -o runs --repeat 3 -- $(step) --- $(step --phase forward) >verdict 2>words
echo "status $?"
grep -o '^NOT.*phase step and forward' verdict
ls runs
grep -o '[ab], repetition [0-9]' words | sort -t ' ' -k 3 -k 1
# what is there is not recorded again; the referee is asked again
warpsheet record --ab -o runs --repeat 3 -- $(step) --- $(step --phase forward) 2>&1 >/dev/null | grep 'recordings made'
# another B is not taken for the first
warpsheet record --ab -o runs --repeat 3 -- $(step) --- $(step) 2>&1 >/dev/null | tail -1
# no times, no verdict
warpsheet record --ab -o none --repeat 1 -- sh -c : --- sh -c : 2>/dev/null | grep '^CANNOT'
# a program that cannot run ends it
warpsheet record --ab -o bad -- $(step) --- $(step --no-such-option) 2>&1 >/dev/null | tail -2
warpsheet record --ab -o wrong -- $(step) 2>&1
echo "status $?"
warpsheet record --ab -o wrong --model mlp 2>&1
echo "status $?"
