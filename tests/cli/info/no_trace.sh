warpsheet info fixtures/broken/no-trace.wtrace
