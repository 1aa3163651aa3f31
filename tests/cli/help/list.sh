warpsheet help
