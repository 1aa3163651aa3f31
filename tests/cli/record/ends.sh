# every way in which a program can end: it is recorded whole, and its status is passed on
# shellcheck source=tests/cli/record/victim.inc
. "$(dirname "$0")/victim.inc"

for mode in exit _exit sigkill sigsegv abort; do
	record $mode $mode 20000 --buffers 2 --buffer-size 16M
	warpsheet info t.wtrace | sed -n 's/^  \(process_end\)  *\([0-9]*\).*/\1 \2/p'
	warpsheet report t.wtrace --table summary --format csv --columns item,text | grep 'program end' | tr -d '\r'
done
record 'exec in the recorded process goes on in the same trace' exec 3000
warpsheet info t.wtrace | sed -n 's/^  \(process\|collector.images\)  *\([0-9]*\).*/\1 \2/p'
record 'threads that outlive the main thread' threads-after-main 1000

# each in a segment of its own, with the handles that its parent got before the fork
rm t.wtrace
record 'forked children are recorded whatever their parent has used' fork 2000
for trace in t.*.wtrace; do
	warpsheet export "$trace" -o x.sqlite 2>words
	python3 -c 'import sqlite3
for row in sqlite3.connect("x.sqlite").execute("SELECT coalesce(text, value) AS mark, count(*) FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId GROUP BY 1"): print(*row)'
	warpsheet info "$trace" | sed -n 's/^  \(process\|thread\|kernel\)  *\([0-9]*\).*/\1 \2/p'
	rm x.sqlite
done
