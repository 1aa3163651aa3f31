# the same bytes, whatever the clock says
warpsheet report fixtures/traces/step-fp32.wtrace -o a.xlsx
sleep 2.1 # ZIP times have a resolution of two seconds
warpsheet report fixtures/traces/step-fp32.wtrace -o b.xlsx
cmp a.xlsx b.xlsx && ls -A
