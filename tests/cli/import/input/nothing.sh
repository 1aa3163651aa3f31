# a file of which a trace would hold nothing is refused, by every command, with what it seems to be
cat >chrome.json <<'EOF'
{"traceEvents": [
{"ph": "B", "cat": "toplevel", "name": "task", "pid": 1, "tid": 1, "ts": 1},
{"ph": "E", "pid": 1, "tid": 1, "ts": 2},
{"ph": "X", "cat": "toplevel", "name": "task", "pid": 1, "tid": 1, "ts": 3, "dur": 1}
]}
EOF
printf '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}' >idle.json
for f in chrome.json idle.json; do
	warpsheet import $f -o t.wtrace
	echo "import: exit $?"
	warpsheet report $f
	echo "report: exit $?"
done
ls
