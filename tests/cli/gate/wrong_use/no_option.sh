warpsheet gate fixtures/traces/step-fp32.wtrace
