warpsheet check fixtures/traces/killed.wtrace
