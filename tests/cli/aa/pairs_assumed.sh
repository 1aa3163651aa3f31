# what was assumed before: a false alarm in 4 of 15 pairs
warpsheet aa fixtures/recorded/aa --run-noise 50
