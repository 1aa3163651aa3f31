# runs of `record --repeat` are no ranks
warpsheet report fixtures/recorded/aa
