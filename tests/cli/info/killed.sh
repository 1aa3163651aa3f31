warpsheet info fixtures/traces/killed.wtrace
