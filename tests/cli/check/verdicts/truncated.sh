warpsheet check fixtures/broken/truncated.wtrace
