# no GPU ran, and no sentence of the first screen speaks of one's time
warpsheet diff fixtures/recorded/aa/mlp-r1.wtrace fixtures/recorded/aa/mlp-r6.wtrace | head -8
