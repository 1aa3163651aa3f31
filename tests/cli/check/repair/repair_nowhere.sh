warpsheet check fixtures/broken/flipped-bit.wtrace --repair absent/out.wtrace
