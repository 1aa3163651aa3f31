warpsheet check fixtures/traces/step-fp32.wtrace
