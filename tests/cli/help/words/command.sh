warpsheet help report
