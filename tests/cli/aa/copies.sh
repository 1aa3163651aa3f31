# a copy varies by nothing from its original, and so says nothing of the noise
warpsheet aa fixtures/recorded/aa fixtures/recorded/aa/mlp-r1.wtrace fixtures/recorded/aa/mlp-r2.wtrace --format csv >with
warpsheet aa fixtures/recorded/aa --format csv | cmp - with
warpsheet aa fixtures/recorded/aa fixtures/recorded/aa/mlp-r1.wtrace | grep 'left out'
