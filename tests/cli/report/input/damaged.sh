warpsheet report fixtures/broken/flipped-bit.wtrace --table losses
