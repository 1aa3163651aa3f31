warpsheet check-feature sweep
