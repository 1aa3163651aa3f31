warpsheet import fixtures/imports/event-sync-a100.json.gz -o one.wtrace >/dev/null
mkdir base many
name=$(printf 'a-workload-with-a-name-that-is-long-%.0s' 1 2 3)
for i in $(seq 700); do ln one.wtrace "many/$name$i.wtrace"; done
warpsheet gate --baseline base --format github many >comment.md
echo "status $?"
wc -c <comment.md | awk '{ print ($1 < 60000 ? "under 60000 bytes" : "too long") }'
grep 'left out' comment.md
grep -o 'with --update.*' comment.md
