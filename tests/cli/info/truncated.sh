warpsheet info fixtures/broken/truncated.wtrace
