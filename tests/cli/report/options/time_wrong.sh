warpsheet report fixtures/traces/step-fp32.wtrace --time 5ms
