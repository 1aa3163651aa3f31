COLUMNS=100 warpsheet report fixtures/recorded/h100/transformer-small.wtrace --table softmax-matmul
