warpsheet check-feature xlsx
