warpsheet diff fixtures/traces/step-fp32.wtrace fixtures/traces/step-fp32.wtrace | head -6
