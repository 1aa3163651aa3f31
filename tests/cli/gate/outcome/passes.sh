warpsheet gate --baseline base --update -- fixtures/traces/step-fp32.wtrace fixtures/traces/step-bf16.wtrace
warpsheet gate --baseline base --format csv -- fixtures/traces/step-fp32.wtrace fixtures/traces/step-bf16.wtrace
find base -name '*.wtrace' | LC_ALL=C sort
