# no kernel was recorded: nothing is said of shares of their time
cat >t.json <<'J'
{"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"load","pid":1,"tid":1,"ts":0,"dur":40},
{"ph":"X","cat":"cpu_op","name":"aten::relu","pid":1,"tid":1,"ts":10,"dur":20}]}
J
warpsheet import t.json -o t.wtrace >words.txt 2>&1
for table in summary ranges ranges-rollup; do
	warpsheet report t.wtrace --table $table --format json | grep -c 'Shares are of the GPU time'
done
warpsheet report t.wtrace --table ranges
