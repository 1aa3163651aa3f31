warpsheet info absent.wtrace
