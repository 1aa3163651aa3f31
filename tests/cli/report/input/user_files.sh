printf 'class pool vectorized_kernel\n' >rules.txt
warpsheet report fixtures/traces/hostile.wtrace --table classes --rules rules.txt --format csv
printf 'Example GPU* | fp32 10 memory 500 | measured here\n' >peaks.txt
warpsheet report fixtures/traces/step-fp32.wtrace --table roofline --format csv --peaks peaks.txt
warpsheet report fixtures/traces/step-fp32.wtrace --rules absent.txt
printf 'Example GPU | fp32 ten | x\n' >peaks.txt
warpsheet report fixtures/traces/step-fp32.wtrace --peaks peaks.txt
