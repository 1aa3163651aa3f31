# every command that reads a trace reads this too, whatever it is called; nothing is left behind
mkdir tmp && export TMPDIR="$PWD/tmp"
cp fixtures/imports/event-sync-a100.json.gz renamed.wtrace
warpsheet report renamed.wtrace --table kernel-summary --format csv | cut -d, -f1-3 &&
	warpsheet report renamed.wtrace --table summary --format csv | grep -c 'renamed.wtrace' &&
	warpsheet info renamed.wtrace | awk 'NR == 1 { print } /^  kernel / { print $1, $2 }' &&
	warpsheet query renamed.wtrace "SELECT count(*) FROM kernel_record" --format csv &&
	warpsheet check renamed.wtrace &&
	warpsheet diff renamed.wtrace fixtures/imports/event-sync-a100.json.gz --table diff-verdict --format csv | head -1 &&
	find tmp -type f
