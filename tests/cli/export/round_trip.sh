# an import of the export gives the same tables, byte for byte
for trace in fixtures/imports/event-sync-a100.json.gz fixtures/imports/alexnet-a100.json.gz fixtures/traces/hostile.wtrace; do
	warpsheet export "$trace" -o t.sqlite 2>/dev/null || exit
	for table in ranges range-kernels api-summary memory-time memory-size steps; do
		warpsheet report "$trace" --table $table --format csv >want.csv 2>/dev/null
		warpsheet report t.sqlite --table $table --format csv >got.csv 2>/dev/null
		cmp want.csv got.csv && echo "$(basename "$trace") $table: same"
	done
done
