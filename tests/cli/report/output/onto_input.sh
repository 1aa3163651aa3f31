cp fixtures/traces/step-fp32.wtrace t.wtrace
warpsheet report t.wtrace --format json -o t.wtrace
status=$?
cmp fixtures/traces/step-fp32.wtrace t.wtrace
exit $status
