# The ranks of a run, imported from traces in which everything is known (ranks.py): clocks, who is
# late, exposed communication and bandwidth are found; what cannot be told is not told.
set -eu
. "$(dirname "$0")/common.sh"
ranks=$(cd "$(dirname "$0")" && pwd)/ranks.py
steps=$(cd "$(dirname "$0")/../../fixtures/traces" && pwd)

cd "$work"
# tables FOLDER: the tables of its traces beside them
tables() {
	for t in "$1"/*.json; do
		"$ws" import "$t" -o "${t%.json}.wtrace" >log 2>&1 || { cat log; fail "no import of $t"; }
	done
	for t in ranks-verdict ranks rank-steps collectives collective-calls; do
		"$ws" report "$1" --table $t -o "$1/$t.csv"
	done
}

python3 "$ranks" make slow 8 6
tables slow
python3 "$ranks" check slow 8 6 5
contains slow/ranks-verdict.csv 'rank 5 causes'
contains slow/ranks-verdict.csv 'It is the last at 100 % of its collectives'
[ -z "$(grep 'not judged' slow/ranks-verdict.csv)" ] || fail "calls that are not judged, where all are"

# the profiler's files do as they are, in any order
"$ws" report slow/rank005.json slow/rank000.json slow/rank003.json --table ranks -o three.csv 2>log
equal "the ranks given" "$(cut -d, -f1 three.csv | tr '\n' ' ')" "Rank 0 3 5 "

# sizes and groups that are not recorded: no bandwidth, but skew by order in the step
# of many ranks the one that makes the others wait stands first
python3 "$ranks" make many 20 3
"$ws" report many >many.txt 2>log || fail "20 ranks: $(cat log)"
grep '^rank ' many.txt | head -1 | grep -q '^rank 12 .*the others wait for it$' || fail "the first of 20 ranks is $(grep '^rank ' many.txt | head -1)"

python3 "$ranks" make nosize 4 5 nosize
tables nosize
equal "a bandwidth of unknown sizes" "$(csv_cell nosize/collectives.csv 'Bus Bandwidth (GB/s)' 'Last Rank=2')" ""
equal "calls" "$(csv_cell nosize/collectives.csv Calls 'Last Rank=2')" 5

# what a collective is, its annotation tells before the name of its kernel
python3 "$ranks" make p2p 4 5 p2p
tables p2p
contains p2p/collectives.csv 'nccl:all_to_all'
contains p2p/ranks-verdict.csv 'rank 2 causes'
equal "calls" "$(csv_cell p2p/collectives.csv Calls 'Last Rank=2')" 5

# and what nothing tells is not judged: most of communication is, so nobody is named
python3 "$ranks" make sends 4 5 sends
tables sends
contains sends/ranks-verdict.csv '20 of 40 calls'
contains sends/ranks-verdict.csv '20 are sends, broadcasts or of unknown kind, 0 have no match'
contains sends/ranks-verdict.csv 'straggler,cannot tell:'
[ -z "$(csv_cell sends/ranks.csv Straggler Rank=2)" ] || fail "a straggler by less than half of communication"

# groups of two each, which join all clocks only as a chain: 0 1, 1 3, 3 2; of 8 ranks no chain joins 0 and 2
python3 "$ranks" make pairs 4 6 pairs
tables pairs
python3 "$ranks" clocks pairs 4
equal "groups" "$(cut -d, -f2 pairs/collectives.csv | sort -u | tr '\n' ' ')" "Group far near "
python3 "$ranks" make apart 8 3 pairs
tables apart
equal "a clock that nothing joins" "$(csv_cell apart/ranks.csv 'Clock Offset (ns)' Rank=2)" ""

# ranks that arrive together, as far as the clocks show
python3 "$ranks" make even 4 5 even
tables even
contains even/ranks-verdict.csv 'cannot tell: all ranks arrive within the error of the clocks'
[ -z "$(csv_cell even/ranks.csv Straggler Rank=0)" ] || fail "a straggler among ranks that are even"

# no communication at a world size over 1 is an alarm: exit status 1, tables all the same
python3 "$ranks" make silent 2 3 silent
for t in silent/*.json; do "$ws" import "$t" -o "${t%.json}.wtrace" >/dev/null 2>&1; done
status=0
"$ws" report silent --table ranks-verdict -o silent.csv 2>log || status=$?
equal "the exit status of an alarm" $status 1
contains log 'alarm: no rank ran a communication kernel, at a world size of 2'
contains silent.csv 'ALARM'
contains silent.csv "exposed communication,cannot tell: not every rank's communication was recorded"

# traces that say nothing of ranks may be none: no world size is claimed for them
"$ws" report "$steps/step-fp32.wtrace" "$steps/step-bf16.wtrace" --table ranks-verdict -o unrelated.csv 2>log || true
contains log 'alarm: no trace has a world size or a communication kernel. If these 2 are ranks'

# the same of one trace, as soon as it is looked at as a whole
status=0
"$ws" report silent/rank000.wtrace -o one.json 2>log || status=$?
equal "the exit status of an alarm of one trace" $status 1
contains log 'alarm: no communication kernel ran, but there is more than one rank'
contains one.json 'ALARM: communication'
"$ws" report slow/rank000.wtrace -o one.json || fail "an alarm where there is communication"

# one rank twice is no run; filters are for one trace
cp slow/rank000.wtrace again.wtrace
for wrong in "slow/rank000.wtrace again.wtrace" "slow --steps 0..1" "slow --table summary"; do
	status=0
	# shellcheck disable=SC2086 # words
	"$ws" report $wrong >log 2>&1 || status=$?
	equal "the exit status of report $wrong" $status 2
done

# 64 ranks: memory is a limit that holds whatever else runs; time is printed
python3 "$ranks" make many 64 40
for t in many/*.json; do "$ws" import "$t" -o "${t%.json}.wtrace" >/dev/null 2>&1; done
python3 - "$ws" <<'PY'
import os, resource, subprocess, sys, time

begin = time.monotonic()
subprocess.run([sys.argv[1], "report", "many", "-o", "many.xlsx"], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"64 ranks: {time.monotonic() - begin:.2f} s, {used.ru_utime + used.ru_stime:.2f} s of CPU, "
      f"{used.ru_maxrss / 1024:.0f} MB")
limit_mb = 128 * int(os.environ.get("WS_MEMORY_TIMES", "1"))
if used.ru_maxrss > limit_mb * 1024:
    sys.exit(f"over {limit_mb} MB")
PY
