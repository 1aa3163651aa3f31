warpsheet import fixtures/imports/event-sync-a100.json.gz -o one.wtrace >/dev/null
mkdir base many
# names that have nothing in common
for i in $(seq 100 799); do ln one.wtrace "many/$(printf "$i-%.0s" $(seq 26)).wtrace"; done
warpsheet gate --baseline base --format github many >comment.md
echo "status $?"
wc -c <comment.md | awk '{ print ($1 < 60000 ? "under 60000 bytes" : "too long") }'
grep 'left out' comment.md
grep -o 'with --update.*' comment.md
