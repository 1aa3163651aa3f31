warpsheet help dmup
