warpsheet check fixtures/broken/flipped-bit.wtrace
