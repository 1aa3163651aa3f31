# The flight recorder: only the last seconds are kept, docs/dev/recorder.md, 12. Steps take 10 or 20 ms, or more, each.
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"
steps="python3 $(dirname "$0")/../../recorder/record/steps.py"

show() { # show TRACE MOST: whether the begin was dropped, the end is there, and all paths are true
	ls
	warpsheet check "$1" | sed 's/: .*, closed/: closed/'
	ask "$1" "SELECT CASE WHEN count(*) BETWEEN 1 AND $2 THEN 'some' ELSE count(*) END || ' kernels' FROM kernel_record" 1
	ask "$1" "SELECT path, CASE WHEN instances > 1 THEN 'several' ELSE instances END FROM path ORDER BY path"
	ask "$1" "SELECT count(*) || ' kernel last' FROM kernel WHERE name = 'last'" 1
	echo "$(warpsheet info "$1" | grep -c 'record\.kept_from_ns') time from which it is kept"
}

echo '# a run of 12 s, of which the last 4 are kept'
warpsheet-record --keep 4s -o t.wtrace -- $steps 600:20 name:last 1:10 2>/dev/null
show t.wtrace 250
echo '# the recorder is killed while it drops pieces: what is unfinished can be read, and rescued'
for n in 60 61 62; do
	rm t.wtrace
	warpsheet-record --keep 0.1 --flush-interval 1 -o t.wtrace -- $steps $n:10 name:last 1:10 killed 2>/dev/null
	warpsheet check t.wtrace.*.part | grep 'missing before'
	warpsheet-record --salvage "$WARPSHEET_SEGMENT_DIR"/* 2>/dev/null
	show t.wtrace 50
done 2>&1 | sort | uniq -c | sed 's/^ *//'
echo '# the recorder is killed before a write, or as it frees room, while pieces are dropped: no kernel of the kept part is missing'
rm t.wtrace
ln -s "$tests/libfull_disk.so" full_disk.so # LD_PRELOAD takes no path with a blank
for at in 1 2 3 4 5 6 7 8 9 13 20; do
	rm -f t.wtrace* begun ended
	# shellcheck disable=SC2046 # words
	FULL_DISK_AT=$at KILL_AT_FULL=begun LD_PRELOAD=./full_disk.so warpsheet-record --keep 0.1 --flush-interval 1 -o t.wtrace -- $steps 20:10 file:begun \
		$(seq 1 40 | sed 's/.*/name:w& 1:10/') file:ended 2>/dev/null
	until [ -e ended ]; do sleep 0.05; done
	warpsheet check t.wtrace.*.part | grep -o 'not closed; whole'
	warpsheet-record --salvage "$WARPSHEET_SEGMENT_DIR"/* 2>/dev/null
	warpsheet check t.wtrace | grep -o ' closed; whole'
	ask t.wtrace "SELECT count(*) + min(CAST(substr(name, 2) AS INTEGER)) || ' is 41' FROM kernel WHERE name LIKE 'w%' AND name != 'work'" 1
done 2>&1 | sort | uniq -c | sed 's/^ *//'
echo '# what is unfinished is read while pieces are dropped: its last whole state, or a clear error'
rm -f t.wtrace* ended
warpsheet-record --keep 0.1 --flush-interval 1 -o t.wtrace -- $steps 100:10 file:ended 2>/dev/null &
until [ -e ended ]; do
	warpsheet report t.wtrace.*.part --table losses --format csv >read 2>&1 || grep -v 'dropped a part that was being read\|cannot open\|was not closed' read
done
wait
rm -f read begun ended t.wtrace*
echo '# two processes'
both="$steps 400:20 name:last 1:10"
warpsheet-record --keep 4 -o t.wtrace -- sh -c "$both & $both & wait" 2>/dev/null
for trace in t*.wtrace; do
	warpsheet check "$trace" | grep -o ' closed; whole'
	ask "$trace" "SELECT count(*) || ' last, ' || (SELECT CASE WHEN count(*) BETWEEN 1 AND 300 THEN 'some' ELSE count(*) END || ' before' FROM kernel WHERE name = 'work') FROM kernel WHERE name = 'last'" 1
done
echo '# the disk is full at some calls, most of which write pieces: what is lost is in the unfinished trace'
rm t*.wtrace
for at in 15 30 60 100; do
	FULL_DISK_AT=$at LD_PRELOAD=./full_disk.so warpsheet-record --keep 0.2 -o t.wtrace -- $steps 40:10 2>/dev/null
	echo "$? $(warpsheet info t.wtrace.*.part 2>/dev/null | awk '/ disk_full / { print ($2 > 0 ? "counted" : "not counted") }')"
	rm t.wtrace*
done
echo '# a file system that cannot free the begin of a file'
FULL_DISK_AT=3 LD_PRELOAD=./full_disk.so warpsheet-record --keep 1 -o t.wtrace -- $steps 1:1 2>&1 | sed 's/^.*part: /part: /'
ls
echo '# all of a shorter run'
warpsheet-record --keep 60 -o t.wtrace -- $steps 5:1 2>said
said
ask t.wtrace "SELECT path, instances FROM path ORDER BY path"
warpsheet info t.wtrace | grep 'record\.kept_from_ns'
echo '# what does not go together'
warpsheet-record --keep 0.01 -o t.wtrace -- $steps 5:1
warpsheet-record --keep 1 --max-size 1M -o t.wtrace -- $steps 5:1
warpsheet-record --keep 1 -o /dev/null -- $steps 5:1
