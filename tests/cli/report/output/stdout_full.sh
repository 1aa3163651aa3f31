warpsheet report fixtures/traces/step-fp32.wtrace >/dev/full
