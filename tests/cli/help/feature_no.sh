warpsheet check-feature export
