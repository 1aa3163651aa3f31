warpsheet info fixtures/traces/hostile.wtrace
