warpsheet check fixtures/broken/nothing.wtrace
