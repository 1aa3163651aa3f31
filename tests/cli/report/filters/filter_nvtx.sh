warpsheet report fixtures/traces/step-fp32.wtrace --nvtx "step/forward*" --table kernel-summary
