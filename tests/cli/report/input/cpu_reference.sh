# no GPU ran, so nothing is a share of its time
warpsheet report fixtures/recorded/aa/mlp-r6.wtrace --table classes
