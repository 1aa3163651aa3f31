# a recording of several processes: a trace for each, whatever becomes of them
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"
v=$tests/record_victim

# shell WHAT OUTPUT COMMAND [OPTION...]: what a shell starts is recorded; then what is in each trace, by its rounds, and
# whether its name is what OUTPUT says of the process in it
shell() {
	printf '\n# %s\n' "$1"
	out=$2 command=$3
	shift 3
	rm -rf ./*.wtrace tally* && for i in 0 1 2; do truncate -s 4096 tally$i; done
	warpsheet-record -o "$out" "$@" -- /bin/sh -c "$command" 2>said
	echo "status $?"
	said
	for trace in ./*.wtrace; do
		pid=$(ask "$trace" 'SELECT DISTINCT pid FROM kernel')
		rounds "$trace" | sed "s/\b${pid:-none}\b/PID/"
	done | LC_ALL=C sort
	ls -A "$WARPSHEET_SEGMENT_DIR"
}
shell 'each has a trace of its own and the first the plain name' t.wtrace "$v exit 500 tally0 & $v exit 700 tally1 & $v exit 900 tally2 & wait" |
	sed 's/^\.\/t\(\.PID\)*\.wtrace/TRACE/' | LC_ALL=C sort
printf '%s\n' ./*.wtrace | sed 's/[0-9][0-9]*/PID/' | LC_ALL=C sort
shell 'p in the name is the process that is in the trace' '100%%-%p.wtrace' "$v exit 500 tally0; $v exit 700 tally1"
shell 'ranks may name the trace' 'rank%q{RANK}.wtrace' "export WORLD_SIZE=2 SECRET=hunter2
	RANK=0 LOCAL_RANK=0 $v exit 500 tally0 & SLURM_PROCID=9 RANK=1 LOCAL_RANK=hunter2 $v exit 700 tally1 & wait"
for rank in 0 1; do
	warpsheet info rank$rank.wtrace | sed -n 's/^  \(process\.[a-z_]*\)  */\1 = /p'
	# the command of the first process holds it, as an argument
	warpsheet info rank$rank.wtrace | grep -v '^  program.arguments' | grep hunter2
done
shell 'exec in a further process goes on in its trace' t.wtrace "$v exit 500 tally0; $v exec 700 tally1" | sed 's/^\.\/t\.PID/.\/t.FURTHER/'
shell 'the death of one leaves the others and its own trace whole' %p.wtrace "$v sigkill 5000 tally0 & $v sigsegv 7000 tally1 & $v until-killed 9000 tally2 & wait" \
	--buffers 2 --buffer-size 16M
shell 'many one after the other' %p.wtrace "for i in \$(seq 40); do $v exit 10 tally0; done" --buffers 2 | uniq -c | sed 's/^ *//'
shell 'one that may write no large file is counted and lives' t.wtrace "$v exit 500 tally0; ulimit -f 100; $v exit 700 tally1"
shell 'one without descriptors for the segment is counted' t.wtrace \
	"exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; $v exit 10 tally0; ulimit -n 5; $v exit 10 tally1; exit 0"
mkdir out
shell 'one whose trace cannot be written' out/t.wtrace "$v exit 500 tally0; until mv out/t.wtrace kept.wtrace; do sleep 0.01; done 2>/dev/null; rmdir out; $v exit 700 tally1"
# no process has this number; a live one's is waited for
shell 'one that dies while it makes its segment holds nobody up' t.wtrace "umask 077; echo cut off >\$WARPSHEET_SEGMENT.process-4194305-1; $v exit 500 tally0"
shell 'a segment that is being made is waited for' t.wtrace \
	'umask 077; sleep 0.3 & s=$WARPSHEET_SEGMENT.process-$!-$(cut -d" " -f22 /proc/$!/stat); echo not yet >$s'
