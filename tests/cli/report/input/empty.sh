warpsheet report fixtures/traces/empty.wtrace
