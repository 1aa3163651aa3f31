warpsheet check fixtures/broken/no-trace.wtrace
