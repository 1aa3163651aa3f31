warpsheet aa fixtures/recorded/aa
