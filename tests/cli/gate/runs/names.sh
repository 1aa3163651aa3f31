warpsheet import fixtures/imports/event-sync-a100.json.gz -o mlp.fp32-r1.wtrace >/dev/null
for run in bf16-r2 bf16-r10 bf16-rx; do cp mlp.fp32-r1.wtrace "mlp.$run.wtrace"; done
mkdir base
warpsheet gate --baseline base --format csv mlp.*.wtrace | cut -d, -f 1,9
# the device is the first that has a name and ran kernels
for name in 'NVIDIA H100 80GB HBM3' ''; do
	cat >several.json <<END
{"deviceProperties":[{"id":0,"name":""},{"id":1,"name":"of no kernel"},{"id":2,"name":"$name"}],"traceEvents":[
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":50,"dur":10,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","cat":"kernel","name":"k","pid":2,"tid":7,"ts":90,"dur":10,"args":{"device":2,"stream":7,"correlation":2}}]}
END
	warpsheet import several.json -o several.wtrace >/dev/null 2>&1
	warpsheet gate --baseline base --format csv several.wtrace | cut -d, -f 1-3 | tail -1
done
