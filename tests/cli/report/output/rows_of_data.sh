# --rows and --top hold for every format that is text
for n in "--rows 2" "--top 2"; do
	warpsheet report fixtures/traces/step-fp32.wtrace --table kernel-summary --columns name,instances $n --format csv
	warpsheet report fixtures/traces/step-fp32.wtrace --table kernel-summary --columns name,instances $n --format json | grep -c '^\["ws_'
	warpsheet report fixtures/traces/step-fp32.wtrace --table kernel-summary --columns name,instances $n --format md | grep -c '^| `*ws'
done
# 0 is all, as without the option
warpsheet report fixtures/traces/step-fp32.wtrace --table kernel-summary --format csv >all.csv
warpsheet report fixtures/traces/step-fp32.wtrace --table kernel-summary --rows 0 --format csv | cmp - all.csv && echo all
