# one recording is one run, however often it is given
for copy in a b c; do
	cp fixtures/traces/step-bf16.wtrace base-$copy.wtrace
	cp fixtures/traces/step-fp32.wtrace run-$copy.wtrace
done
warpsheet gate --baseline base --workload step --update base-?.wtrace
cp base-a.wtrace base/step/example-gpu-invented/run-2.wtrace
warpsheet gate --baseline base --workload step --format csv run-?.wtrace
echo "status $?"
warpsheet diff base-a.wtrace -- run-?.wtrace --table diff-verdict --format json | grep -o '[^"]*recording[^"]*'
mkdir folder
cp run-a.wtrace folder/
warpsheet aa folder run-b.wtrace
