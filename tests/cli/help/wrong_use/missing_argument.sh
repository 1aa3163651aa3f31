warpsheet report
