# the first page has a sentence for each answer, the table a row
warpsheet report fixtures/traces/step-fp32.wtrace --whatif 'class=gemm x0.5' --whatif 'cause=the host x0' | grep '^If '
warpsheet report fixtures/traces/step-fp32.wtrace --table whatif --whatif 'class=gemm x0.5' --whatif 'cause=the host x0'
warpsheet report fixtures/traces/step-fp32.wtrace --format md --whatif 'class=gemm x0.5' | grep -A 6 '^## What if'
warpsheet report fixtures/traces/step-fp32.wtrace --format json --whatif 'class=gemm x0.5' | grep -c '"table": "whatif"'
warpsheet report fixtures/traces/step-fp32.wtrace --whatif 'class=gemm x0.5' -o page.html
