warpsheet report fixtures/traces/step-fp32.wtrace --table classes --sort gpu_nss
