warpsheet check-feature cuda
