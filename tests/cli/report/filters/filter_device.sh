warpsheet report fixtures/traces/step-fp32.wtrace --device 3 --table kernel-summary
