warpsheet report fixtures/traces/hostile.wtrace --table kernel-summary
