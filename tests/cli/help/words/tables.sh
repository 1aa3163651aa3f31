warpsheet tables | head -5
