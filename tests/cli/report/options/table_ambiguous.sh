warpsheet report fixtures/traces/step-fp32.wtrace --table kernel
