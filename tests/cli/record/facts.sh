# facts of a foreign program are provenance, and separate configurations; without them its arguments do
for batch in 16 128; do
	warpsheet record --fact batch=$batch -o fact$batch.wtrace -- true >/dev/null 2>&1
	warpsheet record -o argument$batch.wtrace -- true $batch >/dev/null 2>&1
done
warpsheet info fact16.wtrace | grep workload
warpsheet sweep fact16.wtrace fact128.wtrace --table sweep --format csv | cut -d, -f3
warpsheet sweep argument16.wtrace argument128.wtrace --table sweep-verdict --format csv | grep -o '2 configurations'
for wrong in batch =16 "a b=1"; do
	warpsheet record --fact "$wrong" -o no.wtrace -- true && echo taken
done
ls no.wtrace 2>/dev/null
exit 0
