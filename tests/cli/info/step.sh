warpsheet info fixtures/traces/step-fp32.wtrace
