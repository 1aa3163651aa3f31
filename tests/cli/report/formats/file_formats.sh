# every format to a file; nothing else is left in the folder
for f in a.json a.md a.txt a.xlsx; do
	warpsheet report fixtures/traces/step-fp32.wtrace -o $f || echo "failed: $f"
done
warpsheet report fixtures/traces/step-fp32.wtrace -o a.csv --table steps
ls -A
warpsheet report fixtures/traces/step-fp32.wtrace --table steps --format csv | cmp - a.csv
