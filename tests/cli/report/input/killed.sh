warpsheet report fixtures/traces/killed.wtrace
