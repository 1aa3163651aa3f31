warpsheet report fixtures/traces/step-fp32.wtrace --timeline 2 --format md
