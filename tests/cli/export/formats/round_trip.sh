# an import of the export gives the same tables, byte for byte
tables='kernel-summary kernel-launches ranges range-kernels softmax-matmul classes steps step-statistics gpu execution
	launch-latency api-summary memory-time memory-size memory ops roofline losses'
for trace in fixtures/traces/step-bf16.wtrace fixtures/traces/hostile.wtrace fixtures/imports/*.json.gz; do
	warpsheet export "$trace" -o t.sqlite 2>&1 | grep -v 'imported for this command'
	same=0
	for table in $tables; do
		warpsheet report "$trace" --table $table --format csv >want.csv 2>/dev/null || exit
		warpsheet report t.sqlite --table $table --format csv >got.csv 2>/dev/null || exit
		cmp want.csv got.csv && same=$((same + 1)) || echo "$table differs"
	done
	echo "$(basename "$trace"): $same tables are the same"
done
