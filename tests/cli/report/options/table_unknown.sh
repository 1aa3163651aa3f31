warpsheet report fixtures/traces/empty.wtrace --table kernel-sumary
