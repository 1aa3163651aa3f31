warpsheet check-feature teleport
