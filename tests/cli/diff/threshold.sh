warpsheet diff fixtures/traces/step-bf16.wtrace fixtures/traces/step-fp32.wtrace --threshold 5 --run-noise 1 --table diff-verdict >/dev/null
