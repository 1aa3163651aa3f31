# what the user sees where nothing is recorded, and what is left
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"

run() { # run WHAT ARGUMENT...
	printf '\n# %s\n' "$1"
	shift
	warpsheet-record "$@" 2>said
	echo "status $?"
	said
	ls
	ls -A "$WARPSHEET_SEGMENT_DIR"
}
run 'a program without NVTX gives a valid trace' -o t.wtrace -- /bin/true
warpsheet check t.wtrace | sed 's/[0-9][0-9]* /N /g'
rm t.wtrace
run 'no such program' -o t.wtrace -- no-such-program
truncate -s 4096 zeros
run 'no program' -o t.wtrace -- ./zeros
run 'a folder' -o t.wtrace -- /
run 'no name' -o t.wtrace -- ''
rm zeros
run 'a trace that cannot be written' -o /nonexistent/t.wtrace -- /usr/bin/touch ran
printf precious >t.wtrace
run 'a model option that is refused leaves the file of before' -o t.wtrace --model transformer-tiny --no-such-option
run 'so does a program that is not there' -o t.wtrace -- no-such-program
cat t.wtrace
echo
truncate -s 4096 tally
run 'a whole trace replaces it' -o t.wtrace -- "$tests/record_victim" exit 10 tally
rounds t.wtrace
rm t.wtrace tally
NVTX_INJECTION64_PATH=/opt/other/tool.so run 'another tool is not pushed aside' -o t.wtrace -- /usr/bin/touch ran
NVTX_INJECTION64_PATH=/opt/other/tool.so record 'but with --force it is' exit 10 --force
rm t.wtrace tally
run 'without -o the trace is named after the program' -- /bin/true
run 'and replaces none' -- /bin/true
rm ./*.wtrace
record 'without room for the segment it lies beside the trace' exit 100 --segment-dir /nonexistent
rm ./*.wtrace tally
# options of the recording and of the step may stand in any order
warpsheet-record --model transformer-tiny --steps 1 --warmup 0 --device cpu -o t.wtrace --batch=1 2>said
echo "status $?"
warpsheet info t.wtrace | sed -n 's/^  program.arguments  *//p; /^  losses$/,$p' | awk 'NR == 1 || $2 + 0 > 0'
ask t.wtrace 'SELECT count(*) > 100, min(grid_x) > 0 FROM kernel'
rm ./*.wtrace
run '--output is -o, and options after the program are its own' --output=long.wtrace -- /bin/echo -h --output x
