warpsheet --table steps report x.wtrace
