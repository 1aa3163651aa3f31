warpsheet diff fixtures/traces/step-fp32.wtrace fixtures/traces/step-bf16.wtrace --threshold -5
