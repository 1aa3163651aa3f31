# Many recordings by one command: a grid is whole, resumable, and keeps what failed.
set -eu
. "$(dirname "$0")/common.sh"

cd "$work"
say() { fail "$*"; }

# two models, two dtypes, two repetitions, as small as they get
grid="--model mlp,lenet5 --dtype fp32,amp-bf16 --batch 2 --phase forward --warmup 0 --steps 2 --device cpu"
"$ws" record $grid --repeat 2 -o runs 2>log || { cat log; say "the grid failed"; }
[ "$(ls runs/*.wtrace | wc -l)" = 8 ] || say "not eight traces: $(ls runs)"
[ "$(grep -l '^result=ok$' runs/*.status | wc -l)" = 8 ] || say "not eight states"
grep -q '^dtype=amp-bf16$' runs/lenet5-amp-bf16-r2.status || say "the state does not name its point"
grep -q '8 recordings made, 0 of them failed' log || say "no summary"
grep -q ' left$' log || say "no time left"
# every point once before any is there again
grep -o 'repetition [12]' log | head -4 | grep -q 2 && say "not interleaved"
for t in runs/*.wtrace; do "$ws" check "$t" >/dev/null || say "$t is damaged"; done

# what is there is not made again, what is not there is
before=$(cksum runs/mlp-fp32-r1.wtrace)
rm runs/mlp-fp32-r2.status runs/mlp-fp32-r2.wtrace
"$ws" record $grid --repeat 2 -o runs 2>log || say "resuming failed"
grep -q '1 recordings made, 0 of them failed, 7 were there' log || { cat log; say "not resumed"; }
[ -f runs/mlp-fp32-r2.wtrace ] || say "the missing one was not made"
[ "$before" = "$(cksum runs/mlp-fp32-r1.wtrace)" ] || say "a finished one was made again"

# a program, and one that fails: its state says how
cat >fails.sh <<'X'
echo "no such data set" >&2
exit 3
X
rc=0
"$ws" record --repeat 2 -o failed -- sh fails.sh 2>log || rc=$?
[ $rc = 1 ] || say "a failed run is a negative finding, not $rc"
grep -q '^result=exit status 3' failed/sh-r1.status || say "no reason: $(cat failed/sh-r1.status)"

# a wrong option ends it at once, with what is wrong
rc=0
"$ws" record --model mlp --bach 2,3 -o wrong 2>log || rc=$?
[ $rc = 2 ] || say "a wrong option ends with $rc"
grep -q 'bach' log || { cat log; say "the wrong option is not named"; }
[ ! -e wrong/mlp-bach2-r1.status ] || say "a wrong option counts as made"

# no folder
rc=0
"$ws" record --model mlp,lenet5 2>log || rc=$?
[ $rc = 2 ] || say "no folder ends with $rc"

# --- recordings that run at the same time under one name ---
mkdir "$work/same"
cd "$work/same"
record="${ws}-record"
# two that have both begun before either ends
overlap() {
	rm -f began.? end.?
	for who in a b; do
		mkfifo began.$who end.$who
		"$record" -o same.wtrace -- sh -c "echo >began.$who; read -r _ <end.$who" 2>log.$who &
		eval "pid_$who=$!"
		read -r _ <began.$who
	done
	for who in b a; do
		echo >end.$who
		eval "wait \$pid_$who" || fail "recording $who ended with $?: $(cat log.$who)"
	done
}
number_of_traces() { find . -name '*.wtrace' | wc -l; }

overlap
[ "$(number_of_traces)" = 2 ] || fail "one of two traces is lost: $(ls)"
[ -e same-2.wtrace ] || fail "the second is not called same-2.wtrace: $(ls)"
grep -q 'another recording has written .*same.wtrace meanwhile; this one.s trace is same-2.wtrace' log.? ||
	fail "nobody said so: $(cat log.a log.b)"
# what was there before both is replaced once, and a number replaces nothing
overlap
[ "$(number_of_traces)" = 3 ] || fail "two more recordings of one name leave not three traces: $(ls)"
for trace in *.wtrace; do
	"$ws" check "$trace" >check.log || fail "$trace: $(cat check.log)"
done
rm ./*.wtrace
"$record" -o same.wtrace -- true 2>log
before=$("$ws" info same.wtrace | md5sum)
"$record" -o same.wtrace -- true 2>log
[ "$(number_of_traces)" = 1 ] && [ "$before" != "$("$ws" info same.wtrace | md5sum)" ] ||
	fail "a later recording did not replace the trace: $(ls) $(cat log)"

# a launcher's ranks, and a variable that nobody set
env -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u MV2_COMM_WORLD_RANK -u SLURM_PROCID RANK=1 WORLD_SIZE=2 \
	"$record" -o ranks.wtrace -- true 2>log
[ -e ranks.rank1.wtrace ] || fail "no trace of rank 1: $(ls)"
"$record" -o '%q{WS_NO_SUCH_VARIABLE}.wtrace' -- true 2>log
grep -q 'the variable WS_NO_SUCH_VARIABLE of -o is not set; its trace is unset.wtrace' log ||
	fail "a variable that is not set: $(cat log)"
